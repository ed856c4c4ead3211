import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import pLimit, { type LimitFunction } from 'p-limit'
import { sql, type Sql, written } from './sql.ts'
import { sqliteError } from './sqlite-errors.ts'
import type { Session, Store, Writing } from './store.ts'
import { BUSY_TIMEOUT_MS, type Connection, statement } from '../sqlite/connect.ts'
import { CACHE_KB, type OpenFile, requireVersion } from '../sqlite/open-database.ts'

/** A transaction in SQLite, with its connection for what must be fast. */
export type SqliteSession = Session & { readonly kind: 'sqlite'; readonly db: Connection }

/** The turns of transactions in this process, by file or private connection: one that waits for another of it would block that one. */
const turnsOf = new Map<unknown, LimitFunction>()

/** `place` is the file of a mirror, and a private temporary one has none. `signal` ends the wait for other programs. */
export type Opened = { place?: OpenFile | undefined; signal?: AbortSignal | undefined }

/** A mirror in a file, or in a private temporary one. One transaction at a time. */
export function sqliteStore(db: Connection, file: string, { place, signal }: Opened = {}): Store {
  let isClosing = false
  const mayWait = () => !isClosing && signal?.aborted !== true
  const key = place === undefined ? db : file
  const inTurn = turnsOf.get(key) ?? pLimit(1)
  turnsOf.set(key, inTurn)
  const transaction = async <Result>(words: string, work: (session: Session) => Promise<Result>): Promise<Result> => {
    try {
      await patiently(() => waitingFor(LOOK_MS, db, () => db.exec(words)), mayWait)
      const result = await work(sqliteSession(db))
      db.exec('COMMIT')
      // Several in a row would keep timers, sockets and signals waiting.
      await nextTurn()
      return result
    } catch (error) {
      if (db.open && db.inTransaction) db.exec('ROLLBACK')
      throw sqliteError(error, file, db)
    }
  }
  const write = async <Result>(work: (session: Session) => Promise<Result>, { anywhere = false }: Writing) =>
    transaction('BEGIN IMMEDIATE', async (session) => {
      if (!anywhere) {
        place?.requireInPlace()
        requireVersion(db, file)
      }
      const result = await work(session)
      if (!anywhere) place?.requireInPlace()
      return result
    })
  return {
    kind: 'sqlite',
    place: file,
    read: (work) => inTurn(() => transaction('BEGIN', work)),
    write: (work, writing = {}) =>
      inTurn(() => {
        const run = () => write(work, writing)
        if (place === undefined) return run()
        const sorted = () => withSetting(db, 'cache_size', [`-${SORTING_KB}`, `-${CACHE_KB}`], run)
        if (writing.sorting) return withSetting(db, 'temp_store', ['FILE', 'MEMORY'], sorted).catch(run)
        const flushed = () => withSetting(db, 'synchronous', ['FULL', 'NORMAL'], run)
        // What was deleted for good must not be back after a power loss.
        if (writing.securely) return withSetting(db, 'secure_delete', ['ON', 'OFF'], flushed)
        return writing.durably ? flushed() : run()
      }),
    purge: () => inTurn(async () => place === undefined || (unlessBusy(db, isWalEmptied) && purge(db))),
    settle: () => inTurn(async () => place === undefined || unlessBusy(db, isWalEmptied)),
    close: () => {
      isClosing = true
      return inTurn(async () => {
        place?.letGo(db)
        db.close()
      })
    },
  }
}

/** The cache while keys are sorted, which SQLite does in as much memory: it is no slower with so little. */
const SORTING_KB = 1000

/** For how long a look may block the event loop, the pause before the next one, and how long to wait for another program in all. */
export const LOOK_MS = 5
const [PAUSE_MS, PATIENCE_MS] = [25, 15_000]

/** Tries again while another program writes; the event loop goes on, so that signals are heard and health checks answered. */
export async function patiently<Result>(attempt: () => Result, mayWait: () => boolean): Promise<Result> {
  for (let waitedMs = 0; ; waitedMs += LOOK_MS + PAUSE_MS) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error) || waitedMs >= PATIENCE_MS || !mayWait()) throw error
    }
    await sleep(PAUSE_MS)
  }
}

function isBusy(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  return cause instanceof Database.SqliteError && cause.code.startsWith('SQLITE_BUSY')
}

/** Work for which another program's lock is waited for no longer than this. */
function waitingFor<Result>(busyMs: number, db: Connection, work: () => Result): Result {
  db.pragma(`busy_timeout = ${busyMs}`)
  try {
    return work()
  } finally {
    if (db.open) db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }
}

async function withSetting<Result>(
  db: Connection,
  name: string,
  [during, after]: readonly [string, string],
  work: () => Promise<Result>,
): Promise<Result> {
  db.pragma(`${name} = ${during}`)
  try {
    return await work()
  } finally {
    db.pragma(`${name} = ${after}`)
  }
}

/** The characters of the longest statement that is kept prepared. */
const LONGEST_KEPT = 4000

type Prepared<Row> = Database.Statement<unknown[], Row>

export function sqliteSession(db: Connection): SqliteSession {
  let failure: { error: unknown } | undefined
  const answerTo = async <Row, Answer>(asked: Sql, ask: (on: Prepared<Row>, values: unknown[]) => Answer) => {
    // A full disk or a trigger may have ended it with that error: what follows would be committed by itself.
    if (failure !== undefined && !db.inTransaction) throw failure.error
    try {
      const { text, values } = written(asked, 'sqlite')
      // One with a place for each of many values is hardly met again.
      return ask(text.length > LONGEST_KEPT ? db.prepare(text) : statement(db, text), values)
    } catch (error) {
      failure ??= { error }
      throw error
    }
  }
  return {
    kind: 'sqlite',
    db,
    all: <Row>(asked: Sql) => answerTo(asked, (on: Prepared<Row>, values) => on.all(...values)),
    first: <Row>(asked: Sql) => answerTo(asked, (on: Prepared<Row>, values) => on.get(...values)),
    numbers: (asked) =>
      // Kept apart from the same statement with rows.
      answerTo(sql`-- numbers\n${asked}`, (on: Prepared<number>, values) => on.pluck().all(...values)),
    run: (asked) => answerTo(asked, (on, values) => (on.reader ? on.all(...values).length : on.run(...values).changes)),
  }
}

const READER_MS = 1000

/**
 * Removes from the file and its WAL what is no longer in any table: values that were replaced without `securely` stand in free space too, so
 * the whole file is written anew. False if another program keeps the file busy or there is no room: it can be tried again.
 */
export function purge(db: Connection): boolean {
  return unlessBusy(db, () => {
    // ANALYZE, which a reader may have run, keeps samples of indexed values.
    const sampled = db.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat4'`).get()
    if (sampled !== undefined) db.exec('DELETE FROM sqlite_stat4')
    // The whole file is written anew, which would not fit into memory.
    db.pragma('temp_store = DEFAULT')
    try {
      db.exec('VACUUM')
    } finally {
      db.pragma('temp_store = MEMORY')
    }
    return isWalEmptied(db)
  })
}

/** Empties the WAL, which holds earlier versions of deleted rows. */
function isWalEmptied(db: Connection): boolean {
  return Number(db.pragma('wal_checkpoint(TRUNCATE)', { simple: true })) === 0
}

function unlessBusy(db: Connection, work: (db: Connection) => boolean): boolean {
  try {
    return waitingFor(READER_MS, db, () => work(db))
  } catch (error) {
    if (error instanceof Database.SqliteError) return false
    throw error
  }
}
