import { isPostgres } from '../address/mirror-address.ts'
import type { Opening } from '../model/mirror.ts'
import type * as Sqlite from './open-sqlite.ts'
import type * as Postgres from './postgres/open-database.ts'
import type { Mirror } from './verbs.ts'

export type { Organizations } from './organizations.ts'
export { ifThere, replaced } from './refusals.ts'
export type { Mirror } from './verbs.ts'

// The door to the mirror, wherever it is. Each store is loaded only when an address leads to it.

/** Opens the mirror at `address` to write; creates it if there is none: a file is 0600 in a folder of 0700. */
export async function openMirror(address: string, opening?: Opening): Promise<Mirror> {
  return (await storeOf(address)).openMirror(address, opening)
}

/** Opens the mirror at `address` to read. Throws MirrorUnusable `missing` if there is none. */
export async function openMirrorToRead(address: string): Promise<Mirror> {
  return (await storeOf(address)).openMirrorToRead(address)
}

/** Closes a mirror, or what else was opened, after `work`. */
export async function closing<Opened extends { close(): unknown }, Result>(
  opened: Opened,
  work: (opened: Opened) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(opened)
  } finally {
    await opened.close()
  }
}

/** What the PostgreSQL server of a mirror says of itself, and how it was reached. Throws MirrorUnusable. */
export async function examineServer(address: string) {
  return (await import('./postgres/examine-server.ts')).examineServer(address)
}

/** What someone added to the mirror in a file, or changed there, that may refuse what is written. Throws MirrorUnusable where it would refuse all. */
export async function findAdditions(file: string): Promise<string[]> {
  return (await import('./open-sqlite.ts')).findAdditions(file)
}

/** A private mirror for a dry run, of which nothing remains: one state of these organizations, and of their lists for a partial run. */
export async function rehearseMirror(...asked: Parameters<typeof Sqlite.rehearseMirror>): Promise<Mirror> {
  return (await import('./open-sqlite.ts')).rehearseMirror(...asked)
}

function storeOf(address: string): Promise<typeof Sqlite | typeof Postgres> {
  return isPostgres(address) ? import('./postgres/open-database.ts') : import('./open-sqlite.ts')
}
