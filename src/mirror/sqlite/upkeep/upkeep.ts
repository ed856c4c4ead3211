import { realpathSync } from 'node:fs'
import { CHECKPOINT_PAGES, type Connection } from '../opening/database.ts'
import { identityOf } from '../opening/file-identity.ts'
import { statement } from '../statement.ts'
import { findLock } from '../opening/write-lock.ts'
import { startThread, type UpkeepFile, type UpkeepTask, type UpkeepThread } from './start-thread.ts'

/** While a checkpoint runs, the WAL may grow to so many times as much before a transaction copies it itself. */
const MOST_TIMES = 8

/** An index on fewer customers is built in less time than a thread takes to start. */
const FEW_CUSTOMERS = 20_000

/**
 * What a mirror needs from time to time and what would block the event loop for up to seconds: checkpoints of the WAL, and the indexes
 * of readers after the first nights. A thread with a connection of its own does both.
 *
 *   idle ──▶ copying ─────────────────▶ closed ──▶ idle
 *            most of the WAL, while       the rest of it, and the flush to the disk; or an index is built: transactions wait
 *            transactions write on        for `closed`, and the event loop goes on
 */
export class Upkeep {
  readonly #db: Connection
  readonly #file: UpkeepFile
  readonly #checkpointPages: number
  #thread: UpkeepThread | undefined
  #underWay: Promise<void> | undefined
  #closed: Promise<void> | undefined

  /** For the mirror at `file`, which was just opened. */
  constructor(db: Connection, file: string, checkpointPages = CHECKPOINT_PAGES) {
    this.#db = db
    this.#file = { file: realpathSync(file), identity: identityOf(file) }
    this.#checkpointPages = checkpointPages
    db.pragma(`wal_autocheckpoint = ${checkpointPages * MOST_TIMES}`)
  }

  /** Set while the thread may hold a lock for which a transaction would block the event loop; resolves when it is free again. */
  get closed(): Promise<void> | undefined {
    return this.#closed
  }

  /** Whether the mirror is closed, so that nothing waits for a lock any longer. */
  get isEnding(): boolean {
    return !this.#db.open
  }

  /** Why a transaction would block the event loop for longer: that of another program, for which SQLite waits. Undefined where it would not. */
  findLock(patienceMs: number): unknown {
    return findLock(this.#db, this.#file.file, patienceMs)
  }

  /** To be called after each transaction that wrote. */
  wrote(): void {
    if (this.#underWay !== undefined || walPages(this.#db) < this.#checkpointPages) return
    const copying = this.#checkpoint().catch(() => {})
    this.#underWay = copying.finally(() => (this.#underWay = undefined))
  }

  /** Whether the customers are so many that an index on them is to be built by the thread. */
  get isLarge(): boolean {
    const most = statement<[], number | null>(this.#db, 'SELECT MAX(row_id) FROM customers').pluck()
    return (most.get() ?? 0) >= FEW_CUSTOMERS
  }

  /** Builds the indexes that are missing and due; false if the thread cannot. */
  async index(): Promise<boolean> {
    return await this.#whileClosed('index').catch(() => false)
  }

  /** Waits for what is under way. Call it before the connection is closed. */
  async close(): Promise<void> {
    await this.#underWay
    await this.#closed
    await this.#thread?.close()
  }

  async #checkpoint(): Promise<void> {
    if (await this.#started().ask('checkpoint')) await this.#whileClosed('checkpoint')
  }

  async #whileClosed(task: UpkeepTask): Promise<boolean> {
    while (this.#closed !== undefined) await this.#closed
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#closed = promise
    try {
      return await this.#started().ask(task)
    } finally {
      this.#closed = undefined
      resolve()
    }
  }

  #started(): UpkeepThread {
    return (this.#thread ??= startThread(this.#file))
  }
}

/** Pages in the WAL that are not yet in the file. */
function walPages(db: Connection): number {
  const look = statement<[], { log: number; checkpointed: number }>(db, 'PRAGMA wal_checkpoint(NOOP)')
  const { log, checkpointed } = look.get() ?? { log: 0, checkpointed: 0 }
  return log - checkpointed
}
