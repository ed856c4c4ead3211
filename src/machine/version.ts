import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join, resolve } from 'node:path'

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

/** The commit this program was made from: that of its checkout, or the one that its build wrote down. Undefined where neither is there. Read once. */
export function commit(): string | undefined {
  knownCommit ??= { commit: commitOf(dirname(manifestFile())) }
  return knownCommit.commit
}

let knownCommit: { commit: string | undefined } | undefined

/** The commit of the program in this folder, shortened; undefined where nothing says it. */
export function commitOf(folder: string): string | undefined {
  const written = headOf(folder) ?? readIfThere(join(folder, 'dist/commit'))
  return written !== undefined && /^[0-9a-f]{12,64}$/.test(written) ? written.slice(0, 12) : undefined
}

/** What is checked out in this folder, without git, which may not be installed. A worktree has a file in the place of `.git` that names its folder. */
function headOf(folder: string): string | undefined {
  const worktree = readIfThere(join(folder, '.git'))?.replace('gitdir: ', '')
  const git = resolve(folder, worktree ?? '.git')
  const head = readIfThere(join(git, 'HEAD'))
  if (head === undefined || !head.startsWith('ref: ')) return head
  const branch = head.slice('ref: '.length)
  const shared = resolve(git, readIfThere(join(git, 'commondir')) ?? '')
  const packed = readIfThere(join(shared, 'packed-refs')) ?? ''
  return (
    readIfThere(join(shared, branch)) ??
    packed
      .split('\n')
      .find((line) => line.endsWith(` ${branch}`))
      ?.split(' ')[0]
  )
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
}

function readVersion(): string {
  const manifest: { version: string } = JSON.parse(readFileSync(manifestFile(), 'utf8'))
  return manifest.version
}

/** How many folders it is above this file differs between a checkout and an installed package. */
function manifestFile(): string {
  return findPackageJSON(import.meta.url) ?? ''
}
