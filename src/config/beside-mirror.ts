import { dirname, join } from 'node:path'
import { isPostgres } from '../address/mirror-address.ts'
import type { Config } from './read-config.ts'

/** The folder for what belongs to a mirror: that of its file, or for a database `data` beside the configuration. */
export function folderBeside({ mirror, file }: Pick<Config, 'mirror' | 'file'>): string {
  return isPostgres(mirror) ? join(dirname(file), 'data') : dirname(mirror)
}
