import Database from 'better-sqlite3'
import { setTimeout as sleep } from 'node:timers/promises'
import { BUSY_TIMEOUT_MS, type Connection, statement } from '../sqlite/connect.ts'
import type { OpenFile } from '../sqlite/open-file.ts'
import { requireVersion } from '../sqlite/open-database.ts'
import { sqliteError } from './sqlite-errors.ts'
import { emptyWal, purge } from '../sqlite/purge.ts'
import { type Sql, written } from './sql.ts'
import type { Session, Store, Writing } from './store.ts'

/** A transaction in SQLite, with its connection for what must be fast. */
export type SqliteSession = Session & { readonly db: Connection }

/** The last transaction of this process, by file or private connection. */
const lastOf = new Map<unknown, Promise<unknown>>()

/** `place` is the file of a mirror, and a private temporary one has none. `signal` ends the wait for other programs. */
export type Opened = { place?: OpenFile | undefined; signal?: AbortSignal | undefined }

/** A mirror in a file, or in a private temporary one. One transaction at a time. */
export function sqliteStore(db: Connection, file: string, { place, signal }: Opened = {}): Store {
  let isClosing = false
  const mayWait = () => !isClosing && signal?.aborted !== true
  const key = place === undefined ? db : file
  /** Runs one after the other: a connection has one transaction, and one that waits for another of this process would block it. */
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const mine = (lastOf.get(key) ?? Promise.resolve()).then(work)
    lastOf.set(
      key,
      mine.catch(() => {}),
    )
    return mine
  }
  const transaction = async <Result>(words: string, work: (session: Session) => Promise<Result>): Promise<Result> => {
    try {
      await patiently(() => begin(db, words), mayWait)
      const result = await work(sqliteSession(db))
      db.exec('COMMIT')
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
        if (writing.securely) return withSettingAsync(db, 'secure_delete', 'ON', run)
        return writing.durably ? withSettingAsync(db, 'synchronous', 'FULL', run) : run()
      }),
    purge: () => inTurn(async () => place === undefined || (emptyWal(db) && purge(db))),
    settle: () => inTurn(async () => place === undefined || emptyWal(db)),
    close: () => {
      isClosing = true
      return inTurn(async () => {
        place?.letGo(db)
        db.close()
      })
    },
  }
}

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

function begin(db: Connection, words: string) {
  db.pragma(`busy_timeout = ${LOOK_MS}`)
  try {
    db.exec(words)
  } finally {
    if (db.open) db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }
}

async function withSettingAsync<Result>(
  db: Connection,
  name: string,
  value: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const before = String(db.pragma(name, { simple: true }))
  db.pragma(`${name} = ${value}`)
  try {
    return await work()
  } finally {
    db.pragma(`${name} = ${before}`)
  }
}

/** The characters of the longest statement that is kept prepared. */
const LONGEST_KEPT = 4000

/** A transaction that is under way on a connection. */
export function sqliteSession(db: Connection): SqliteSession {
  const prepared = (sql: Sql) => {
    const { text, values } = written(sql, 'sqlite')
    // One with a place for each of many values is hardly met again.
    return { on: text.length > LONGEST_KEPT ? db.prepare(text) : statement<unknown[], unknown>(db, text), values }
  }
  return {
    kind: 'sqlite',
    db,
    // The border to SQL: the author of a statement declares its rows, and the tests that run it check them.
    all: async <Row>(sql: Sql) => {
      const { on, values } = prepared(sql)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return on.all(...values) as Row[]
    },
    first: async <Row>(sql: Sql) => {
      const { on, values } = prepared(sql)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return on.get(...values) as Row | undefined
    },
    numbers: async (sql) => {
      const { text, values } = written(sql, 'sqlite')
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return statement(db, `-- numbers\n${text}`)
        .pluck()
        .all(...values) as number[]
    },
    run: async (sql) => {
      const { on, values } = prepared(sql)
      return on.reader ? on.all(...values).length : on.run(...values).changes
    },
  }
}
