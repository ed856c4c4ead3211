import { readFileSync } from 'node:fs'

/** The migrations in order; a file's place here is the version after it. */
export const MIGRATIONS = ['0001-initial.sql', '0002-reading.sql', '0003-search-path.sql', '0004-dictionary-key.sql']

export const LATEST_VERSION = MIGRATIONS.length

/** The text of a migration. */
export function migration(name: string): string {
  return readFileSync(new URL(`../migrations/${name}`, import.meta.url), 'utf8')
}
