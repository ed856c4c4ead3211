import { lstatSync } from 'node:fs'
import { dirname } from 'node:path'
import { isPostgres, shownMirror } from '../address/mirror-address.ts'
import { LeftUndone } from './copy-error.ts'
import { JOURNALS, writeWithoutWaiting } from './open-to-read.ts'
import { writeFor } from './written-file.ts'
import { MirrorUnusable, OrganizationLeased, UsageError } from '../errors/errors.ts'
import { mirrorFault } from '../errors/faults.ts'
import { makeFolder } from '../machine/folders.ts'
import { type Copied, type Copying, copyRows, heldTable, MOVED_TABLES } from '../store/move-mirror.ts'
import { sql, text } from '../store/port/sql.ts'
import { fileError } from '../store/port/sqlite-errors.ts'
import { sqliteSession, sqliteStore } from '../store/port/sqlite-store.ts'
import type { Session } from '../store/port/store.ts'
import { openDatabase as openServer, type Opening, requireAllRows } from '../store/postgres/open-database.ts'
import { createReadingIndexes } from '../store/reading-indexes.ts'
import { type Clocks, heldLeases } from '../store/runs/lease.ts'
import { openDatabase } from '../store/sqlite/open-database.ts'

type Move = { from: string; to: string }

type Moving = Clocks & { signal: AbortSignal }

export type Moved = { rows: Copied; organizations: number }

/**
 * Copies one state of a mirror to the other kind of store, all of it or nothing, and compares every value of what was written. The mirror
 * stays as it is. Throws UsageError where there is a mirror already, OrganizationLeased while a run is under way, MirrorUnusable, and
 * Interrupted after an abort.
 */
export async function moveMirror(move: Move, moving: Moving, opening: Opening = {}): Promise<Moved> {
  return isPostgres(move.to) ? moveToPostgres(move, moving, opening) : moveToFile(move, moving)
}

/** The file is made under a private name and gets its own at the end: what a killed move left is no mirror, and the next one removes it. */
async function moveToFile({ from, to: file }: Move, moving: Moving): Promise<Moved> {
  const server = await openServer(from, 'read')
  try {
    requireFree(file)
    makeFolder(dirname(file))
    return await writeFor(file, async ({ path, place }) => {
      const { moved, copied } = await server.read(async (session) => {
        await requireAllRows(session)
        const runs = await latestAtRest(session, moving)
        const db = openDatabase(path, 'write')
        try {
          writeWithoutWaiting(db)
          db.exec('BEGIN IMMEDIATE')
          const sides = { from: session, to: sqliteSession(db), fromPlace: shownMirror(from), toPlace: path }
          const done = await carry(sides, moving)
          db.exec('COMMIT')
          await createReadingIndexes(sqliteStore(db, path))
          return { copied: runs, moved: done }
        } finally {
          db.close()
        }
      })
      await server.read(async (session) => latestAtRest(session, moving, copied))
      requireFree(file)
      place()
      return moved
    })
  } catch (error) {
    throw error instanceof LeftUndone ? mirrorFault(file, error.seen, { cause: error }) : fileError(error, file)
  } finally {
    await server.close()
  }
}

function requireFree(file: string): void {
  const taken = ['', ...JOURNALS].find((ending) => lstatSync(file + ending, { throwIfNoEntry: false }) !== undefined)
  if (taken !== undefined)
    throw new UsageError(`${file}${taken}: is there already. It was left as it is; name a file that is not there yet.`)
}

/** In one transaction there: a move that was killed leaves nothing. */
async function moveToPostgres({ from: file, to }: Move, moving: Moving, opening: Opening): Promise<Moved> {
  const db = openDatabase(file, 'read')
  try {
    db.exec('BEGIN')
    const from = sqliteSession(db)
    const copied = await latestAtRest(from, moving)
    const server = await openServer(to, 'write', opening)
    try {
      return await server.write(async (session) => {
        await requireAllRows(session)
        // A run that starts there meanwhile waits, and is refused.
        await session.run(sql`LOCK TABLE runs, leases IN EXCLUSIVE MODE`)
        const moved = await carry({ from, to: session, fromPlace: file, toPlace: shownMirror(to) }, moving)
        for (const name of MOVED_TABLES) await session.run(text(`ANALYZE ${name}`))
        // What the file holds now, and a new state of it should the server have this done again.
        db.exec('COMMIT; BEGIN')
        await latestAtRest(from, moving, copied)
        return moved
      })
    } finally {
      await server.close()
    }
  } finally {
    db.close()
  }
}

/**
 * The latest run. Throws OrganizationLeased for one under way, and for one after the state that was `copied`: what it saves would be lost.
 */
async function latestAtRest(session: Session, clocks: Clocks, copied?: number): Promise<number> {
  const [held] = await heldLeases(session, clocks)
  const runs = sql`SELECT coalesce(max(id), 0) AS latest FROM runs`
  const latest = (await session.first<{ latest: number }>(runs))?.latest ?? 0
  if (held === undefined && latest === (copied ?? latest)) return latest
  const found =
    held === undefined
      ? `Run ${latest} began while the mirror was copied, so nothing was moved.`
      : `${held.organization}: run ${held.run_id} is mirroring it now, so the mirror cannot be moved. Nothing was changed.`
  throw new OrganizationLeased(
    `${found} Stop the worker and whatever else starts runs, then try again; a run that died is given up after a minute.`,
  )
}

/** Copies all of a mirror, and compares it. The caller holds a transaction in each. */
async function carry(
  { from, to, fromPlace, toPlace }: Pick<Copying, 'from' | 'to'> & { fromPlace: string; toPlace: string },
  { signal }: Moving,
): Promise<Moved> {
  const held = await heldTable(to)
  if (held !== undefined)
    throw new UsageError(
      `${toPlace}: holds a mirror already (there are rows in its table ${held}). It was left as it is; name a place without one, such as ` +
        'another schema.',
    )
  const differing = (what: string) =>
    new MirrorUnusable(`${toPlace}: what was written there differs from ${fromPlace} in ${what}. Nothing was moved.`, {
      code: 'damaged',
    })
  const copied = await copyRows({ from, to, signal, differing })
  const known = sql`SELECT count(DISTINCT organization) AS known FROM runs`
  return { rows: copied, organizations: (await from.first<{ known: number }>(known))?.known ?? 0 }
}
