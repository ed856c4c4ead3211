import type Database from 'better-sqlite3'
import { statSync } from 'node:fs'
import { OrganizationLeased } from '../../errors/errors.ts'
import { isOfSqlite, mirrorFault, seenIn } from '../../errors/faults.ts'
import { isMissing } from '../../machine/is-missing.ts'
import { fileError } from '../../store/port/sqlite-errors.ts'
import { sqliteSession } from '../../store/port/sqlite-store.ts'
import { heldLeases } from '../../store/runs/lease.ts'
import { requireRegularFile } from '../../store/sqlite/open-file.ts'
import type { Clocks } from '../../organizations.ts'
import { isMirror } from '../file-kind.ts'
import { isWhole } from '../../store/sqlite/open-database.ts'
import { connect } from '../../store/sqlite/connect.ts'

/** The mirror that is about to be replaced, with no other program in it, and nothing beside it. */
export type LockedMirror = {
  /** Undefined where it is of another version, or lacks tables: then nothing of it can be carried over. */
  db: Database.Database | undefined
  /** Lets other programs open the file again, whatever name it has by then. */
  release(): void
}

/**
 * Locks the mirror at `file` against every other program: SQLite grants that only while none has it open, and a run, a worker and
 * a reader hold a lock of their own from the first moment to the last. Its WAL is merged into it and removed, so that nothing of it
 * is left that SQLite could take for the WAL of the file that follows. Undefined where there is no file. Throws OrganizationLeased
 * for a run that is under way, and MirrorUnusable `busy` for any other program that has the file open.
 */
export async function lockMirror(file: string, clocks: Clocks): Promise<LockedMirror | undefined> {
  if (isMissing(file)) return undefined
  requireRegularFile(file)
  if (statSync(file).size === 0) return undefined
  let db: Database.Database | undefined
  try {
    db = connect(file, { fileMustExist: true, timeout: 500 })
    // Without this, SQLite would make the files of a WAL beside it before it looks whether it is alone.
    db.pragma('locking_mode = EXCLUSIVE')
    requireOurs(db, file)
    await requireNoRun(db, file, clocks)
    db.pragma('journal_mode = DELETE')
    db.exec('BEGIN EXCLUSIVE')
    const locked = db
    return { db: isWhole(locked) ? locked : undefined, release: () => void locked.close() }
  } catch (error) {
    db?.close()
    if (isBusy(error)) throw await inUse(file, clocks, error)
    throw fileError(error, file)
  }
}

function isBusy(error: unknown): boolean {
  return isOfSqlite(error) && seenIn(error)?.fault === 'busy'
}

function requireOurs(db: Database.Database, file: string): void {
  if (isMirror(db)) return
  throw mirrorFault(file, { fault: 'foreign', said: 'is a SQLite file of another program' })
}

async function requireNoRun(db: Database.Database, file: string, clocks: Clocks): Promise<void> {
  const held = await heldLease(db, clocks)
  if (held !== undefined) throw leased(file, held)
}

type Held = Awaited<ReturnType<typeof heldLeases>>[number]

async function heldLease(db: Database.Database, clocks: Clocks): Promise<Held | undefined> {
  return isWhole(db) ? (await heldLeases(sqliteSession(db), clocks))[0] : undefined
}

/** Another program has it open: a run, if there is a lease. */
async function inUse(file: string, clocks: Clocks, cause: unknown): Promise<Error> {
  const held = await findRun(file, clocks)
  if (held !== undefined) return leased(file, held)
  return mirrorFault(
    file,
    {
      fault: 'busy',
      said: 'a worker, a command or a reader has the mirror open. Nothing was restored',
    },
    { cause },
  )
}

/** The run under way, as far as a reader can see it. */
async function findRun(file: string, clocks: Clocks): Promise<Held | undefined> {
  try {
    const db = connect(file, { readonly: true, fileMustExist: true, timeout: 500 })
    try {
      return await heldLease(db, clocks)
    } finally {
      db.close()
    }
  } catch {
    return undefined
  }
}

function leased(file: string, { organization, run_id: runId }: Held): OrganizationLeased {
  return new OrganizationLeased(
    `${file}: run ${runId} of ${organization} is writing it. Nothing was restored. Stop the worker and every sync, then ` +
      'restore again; a run that died is given up after a minute.',
  )
}
