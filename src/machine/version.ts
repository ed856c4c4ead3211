import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'

/** This program's version, from its package.json. */
export function version(): string {
  return VERSION
}

/** The version and, where it is known, the commit it was made from: `0.2.0+4c3a4cc1a2b3`. */
export function exactVersion(): string {
  return COMMIT === undefined ? VERSION : `${VERSION}+${COMMIT}`
}

/** The commit this program was made from, as its build wrote it down; undefined in a checkout, and where the build knew none. */
export function commit(): string | undefined {
  return COMMIT
}

/** The commit in a file, shortened; undefined where it holds none. */
export function commitIn(file: URL): string | undefined {
  try {
    return /^[0-9a-f]{12}/.exec(readFileSync(file, 'utf8'))?.[0]
  } catch {
    return undefined
  }
}

// Both are read once, at the start: a run does not depend on the files.
const VERSION = readVersion()
const COMMIT = commitIn(new URL('../../commit', import.meta.url))

/** How many folders it is above this file differs between a checkout and an installed package. */
function readVersion(): string {
  const manifest: { version: string } = JSON.parse(readFileSync(findPackageJSON(import.meta.url) ?? '', 'utf8'))
  return manifest.version
}
