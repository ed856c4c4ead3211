import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'

/** This program's version, from its package.json. It is read once: a run does not depend on the file. */
export function version(): string {
  return (knownVersion ??= readVersion())
}

let knownVersion: string | undefined

/** The version and, where it is known, the commit it was made from: `0.2.0+4c3a4cc1a2b3`. */
export function exactVersion(): string {
  const known = commit()
  return known === undefined ? version() : `${version()}+${known}`
}

/** The commit this program was made from, as its build wrote it down; undefined in a checkout, and where the build knew none. Read once. */
export function commit(): string | undefined {
  knownCommit ??= { commit: commitIn(new URL('../../commit', import.meta.url)) }
  return knownCommit.commit
}

let knownCommit: { commit: string | undefined } | undefined

/** The commit in a file, shortened; undefined where it holds none. */
export function commitIn(file: URL): string | undefined {
  try {
    return /^[0-9a-f]{12}/.exec(readFileSync(file, 'utf8'))?.[0]
  } catch {
    return undefined
  }
}

/** How many folders it is above this file differs between a checkout and an installed package. */
function readVersion(): string {
  const manifest: { version: string } = JSON.parse(readFileSync(findPackageJSON(import.meta.url) ?? '', 'utf8'))
  return manifest.version
}
