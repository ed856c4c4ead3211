import { randomUUID } from 'node:crypto'
import { lstatSync, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isPostgres, shownMirror } from '../address/mirror-address.ts'
import { MirrorUnusable, OrganizationLeased } from '../errors/errors.ts'
import { systemCode } from '../errors/faults.ts'
import { makeFolder } from '../machine/folders.ts'
import { closing } from '../store/mirror.ts'
import { type Copying, copyRows, MOVED_TABLES, noteNumbers } from '../store/move-mirror.ts'
import { sql, text } from '../store/port/sql.ts'
import { fileError } from '../store/port/sqlite-errors.ts'
import { sqliteSession, sqliteStore } from '../store/port/sqlite-store.ts'
import { countOf, type Session } from '../store/port/store.ts'
import { openDatabase as openServer } from '../store/postgres/open-database.ts'
import { createReadingIndexes } from '../store/reading-indexes.ts'
import { type Clocks, requireAllRows, requireNoLease } from '../store/runs/lease.ts'
import { openDatabase } from '../store/sqlite/open-database.ts'
import { JOURNALS, writeWithoutWaiting } from '../store/sqlite/open-to-read.ts'
import { refused } from './target-place.ts'
import { beginFile, writeFor } from './written-file.ts'

type Move = { from: string; to: string }

type Moving = Clocks & { signal: AbortSignal }

/** Copies one state to the other store and compares it, or nothing. Throws UsageError, OrganizationLeased, MirrorUnusable, Interrupted. */
export async function moveMirror(move: Move, moving: Moving) {
  return isPostgres(move.to) ? moveToPostgres(move, moving) : moveToFile(move, moving)
}

/** The file is made under a private name and gets its own at the end: what a killed move left is no mirror, and the next one removes it. */
async function moveToFile({ from, to: file }: Move, moving: Moving) {
  return closing(await openServer(from, 'read'), async (server) => {
    requireFree(file)
    makeFolder(dirname(file))
    return writeFor(file, async ({ path, place }) => {
      let latest = 0
      const moved = await server.read(async (session) => {
        latest = await latestAtRest(session, moving)
        return closing(openDatabase(path, 'write'), async (db) => {
          writeWithoutWaiting(db)
          db.exec('BEGIN IMMEDIATE')
          const places = { from: shownMirror(from), to: path }
          const done = await copy({ from: session, to: sqliteSession(db) }, places, moving)
          db.exec('COMMIT')
          await createReadingIndexes(sqliteStore(db, path))
          return done
        })
      })
      await server.read((session) => latestAtRest(session, moving, latest))
      requireFree(file)
      place()
      return moved
    })
  }).catch((error: unknown) => {
    throw fileError(error, file)
  })
}

function requireFree(file: string): void {
  const taken = ['', ...JOURNALS].find((ending) => lstatSync(file + ending, { throwIfNoEntry: false }) !== undefined)
  if (taken !== undefined)
    throw refused(file + taken, 'is there already. It was left as it is; name a file that is not there yet')
}

/** In one transaction there: a move that was killed leaves nothing. */
async function moveToPostgres({ from: file, to }: Move, moving: Moving) {
  return closing(openDatabase(file, 'read'), async (db) => {
    db.exec('BEGIN')
    const from = sqliteSession(db)
    const latest = await latestAtRest(from, moving)
    return closing(await openServer(to, 'write'), (server) =>
      server.write(async (session) => {
        await requireAllRows(session)
        // A run that starts there meanwhile waits, and is refused.
        await session.run(sql`LOCK TABLE runs, leases IN EXCLUSIVE MODE`)
        const moved = await copy({ from, to: session }, { from: file, to: shownMirror(to) }, moving)
        for (const { name } of MOVED_TABLES) await session.run(text(`ANALYZE ${name}`))
        // What the file holds now, and a new state of it should the server have this done again.
        db.exec('COMMIT; BEGIN')
        await latestAtRest(from, moving, latest)
        return moved
      }),
    )
  })
}

/** The latest run. Throws OrganizationLeased for one under way, and for one after the state that was `copied`: what it saves would be lost. */
async function latestAtRest(session: Session, clocks: Clocks, copied?: number): Promise<number> {
  await requireNoLease(session, 'moved', clocks)
  const latest = await countOf(session, sql`SELECT coalesce(max(id), 0) FROM runs`)
  if (latest === (copied ?? latest)) return latest
  const why = `Run ${latest} began while the mirror was copied, so nothing was moved`
  throw new OrganizationLeased(`${why}. Stop the worker and whatever else starts runs, then try again.`)
}

/** Copies all of a mirror to an empty one. The caller holds a transaction in each. */
async function copy(sides: Pick<Copying, 'from' | 'to'>, places: Move, { signal }: Moving) {
  const isHeld = (await sides.to.first(sql`SELECT 1 FROM runs LIMIT 1`)) !== undefined
  const held = 'holds a mirror already. It was left as it is; name a place without one, such as another schema'
  if (isHeld) throw refused(places.to, held)
  const differing = (what: string) => {
    const said = `what was written there differs from ${places.from} in ${what}. Nothing was moved.`
    return new MirrorUnusable(`${places.to}: ${said}`, { code: 'damaged' })
  }
  const rows = await copyRows({ ...sides, signal, differing })
  return { rows, organizations: await countOf(sides.from, sql`SELECT count(DISTINCT organization) FROM runs`) }
}

/** Copies one state of what readers see on a server into a private temporary file of SQLite, which the caller closes. Throws MirrorUnusable. */
export async function makePrivateCopy(address: string, signal?: AbortSignal) {
  let begun: ReturnType<typeof beginFile> | undefined
  try {
    begun = beginFile(join(privateFolder(), `copy-${randomUUID()}`))
    const { path } = begun
    await closing(await openServer(address, 'read'), (server) =>
      closing(openDatabase(path, 'write'), async (db) => {
        writeWithoutWaiting(db)
        db.exec('BEGIN')
        await server.read(async (session) => {
          // The server may end a statement, on a standby above all; then all of it is read again.
          db.exec('ROLLBACK; BEGIN')
          await copyRows({ from: session, to: sqliteSession(db), tables: READ_TABLES, signal })
          await noteNumbers(session, db)
        })
        db.exec('COMMIT; ANALYZE')
      }),
    )
    return begun
  } catch (error) {
    begun?.close()
    throw fileError(error, `${tmpdir()} (TMPDIR)`)
  }
}

/** What readers see, and nothing of what a run or a forgotten customer needs. */
const READ_TABLES = 'last_update runs customers changes rejects held_rows retired_organizations horizons'.split(' ')

/** One folder for each user; another one where that is of another user, or open to others. */
function privateFolder(): string {
  const folder = join(tmpdir(), `customer-mirror-${process.geteuid?.()}`)
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error
  }
  const found = lstatSync(folder)
  const isOurs = found.isDirectory() && found.uid === process.geteuid?.() && (found.mode & 0o077) === 0
  return isOurs ? folder : mkdtempSync(`${folder}-`)
}
