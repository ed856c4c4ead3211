import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { MirrorUnusable, UsageError } from '../../errors/errors.ts'
import { makeFolder } from '../../machine/make-folder.ts'
import { shownMirror } from '../../address/mirror-address.ts'
import { sqliteSession } from '../../store/port/sqlite-store.ts'
import { openDatabase as openServer, requireAllRows } from '../../store/postgres/open-database.ts'
import { postgresSession } from '../../store/port/postgres-store.ts'
import { heldLeases } from '../../store/runs/lease.ts'
import type { Session } from '../../store/port/postgres-session.ts'
import { openDatabase } from '../../store/sqlite/open-database.ts'
import { type Connection, withRoomToSort } from '../../store/sqlite/connect.ts'
import { fileError } from '../../store/port/sqlite-errors.ts'
import { createReadingIndexes } from '../../store/sqlite/indexes.ts'
import { withUnfinishedFile } from '../backup/unfinished-file.ts'
import { JOURNALS } from '../files/target-place.ts'
import { putInPlace, underItsName } from '../files/placed-file.ts'
import { LeftUndone, placedError } from '../files/copy-error.ts'
import { lock } from '../files/folder-lock.ts'
import { writeWithoutWaiting } from '../unfinished-database.ts'
import { carry, refuseRun, requireLatest, type Move, type Moved, type Moving } from './carry.ts'

/**
 * Moves a schema to a file, which is made under a private name and gets its own at the end: what a killed move left is no mirror, and
 * the next one removes it.
 */
export async function moveToFile({ from, to: file }: Move, moving: Moving): Promise<Moved> {
  const server = await openServer(from, 'read')
  try {
    requireFree(file)
    makeFolder(dirname(file))
    const folder = lock(join(dirname(file), '.move.lock'), 0, () => busy(file))
    try {
      return await withUnfinishedFile(file, 'move', async ({ path, flush }) => {
        try {
          const { moved, copied } = await server.read(async (session) => {
            await requireAllRows(session)
            await requireAtRest(session, moving)
            return { copied: await latestRun(session), moved: await fill(path, { session, from, moving }) }
          })
          requireLatest(copied, await server.read(latestRun))
          flush()
          requireFree(file)
          putInPlace(path, file)
          return moved
        } catch (error) {
          throw underItsName(error, { path, file })
        }
      })
    } finally {
      folder.release()
    }
  } catch (error) {
    throw error instanceof LeftUndone ? placedError(error, file) : fileError(error, file)
  } finally {
    await server.close()
  }
}

function requireFree(file: string): void {
  for (const ending of ['', ...JOURNALS])
    if (lstatSync(file + ending, { throwIfNoEntry: false }) !== undefined)
      throw new UsageError(
        `${file}${ending}: is there already. It was left as it is; name a file that is not there yet.`,
      )
}

function busy(file: string): UsageError {
  return new UsageError(
    `${dirname(file)}: another process moves a mirror there at the moment. Nothing was changed; move again when it is done.`,
  )
}

async function requireAtRest(session: Session, clocks: Pick<Moving, 'nowMs' | 'monotonicMs'>): Promise<void> {
  const [held] = await heldLeases(postgresSession(session), clocks)
  if (held !== undefined) refuseRun({ organization: held.organization, runId: held.run_id })
}

async function latestRun(session: Session): Promise<number> {
  return (await session.first<{ id: number }>('SELECT coalesce(max(id), 0) AS id FROM runs'))?.id ?? 0
}

type Filling = { session: Session; from: string; moving: Moving }

async function fill(path: string, { session, from, moving }: Filling): Promise<Moved> {
  const db = openDatabase(path, 'write')
  try {
    writeWithoutWaiting(db)
    db.exec('BEGIN IMMEDIATE')
    const place = shownMirror(from)
    const sides = { from: postgresSession(session), to: sqliteSession(db), fromPlace: place, toPlace: path }
    const moved = await carry(sides, moving)
    requireSound(db, place)
    db.exec('COMMIT')
    withRoomToSort(db, () => createReadingIndexes(db))
    return moved
  } finally {
    db.close()
  }
}

/** Every row refers to rows that are there. */
function requireSound(db: Connection, place: string): void {
  const [found] = db.prepare<[], { table: string; parent: string }>('PRAGMA foreign_key_check').all()
  if (found === undefined) return
  throw new MirrorUnusable(
    `${place}: a row of ${found.table} refers to a row of ${found.parent} that is not there, which only a change by hand can have left. ` +
      'Nothing was moved.',
    { code: 'damaged' },
  )
}
