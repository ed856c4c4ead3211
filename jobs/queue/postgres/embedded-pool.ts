import { EventEmitter } from 'node:events'
import { messages, type PGlite } from '@electric-sql/pglite'
import type { PostgresQueueBackend, runMigrations } from 'bullmq'
import { setImmediate as nextTurn } from 'node:timers/promises'

type Session = Parameters<typeof runMigrations>[0]
type Pool = PostgresQueueBackend['connection']['pool']
type Client = Awaited<ReturnType<Pool['connect']>>
type Result<Row> = { rows: Row[]; rowCount: number | null }
type Ask = <Row>(text: string, parameters?: readonly unknown[]) => Promise<Result<Row>>

/**
 * How long a database that ended is left alone: twice as long each time, since files and memory of what ended stay with this process.
 */
const REST_MS = { first: 100, most: 600_000 }

/** Queries in one turn of the event loop; each takes half a millisecond. With a thousand organizations a thousand come together. */
const IN_TURN = 50

/**
 * An in-process PostgreSQL, as the connection pool that the queue expects. All connections share one session, so a transaction
 * must not stay open between queries: migrations run before anything else. It is opened for the first query, and anew after a panic, as on
 * a full disk: PostgreSQL ends then, and in this process it would neither answer nor return; and where it is at odds with its folder. For a
 * while, queries are refused.
 */
export class EmbeddedPool extends EventEmitter implements Pool {
  readonly #open: () => Promise<PGlite>
  readonly #ask: Ask
  readonly #clients = new Set<EmbeddedClient>()
  #database: PGlite | undefined
  #stopForwarding = () => {}
  /** The error with which it ended, as long as it is left alone. */
  #ended: { error: unknown } | undefined
  #restMs = REST_MS.first

  constructor(open: () => Promise<PGlite>) {
    super()
    this.#open = open
    // A query blocks this thread, and the database begins the next one at once: timers, sockets and signals would wait for all of them.
    const queries = new OneAfterAnother({ inTurn: IN_TURN })
    this.#ask = (text, parameters) => queries.begin(() => this.#answer(text, parameters))
  }

  /** The only session. */
  session(): Session {
    return new EmbeddedClient(this.#ask, () => {})
  }

  query<Row>(text: string, parameters?: readonly unknown[]): Promise<Result<Row>> {
    return this.#ask(text, parameters)
  }

  connect(): Promise<Client> {
    const client = new EmbeddedClient(this.#ask, () => this.#clients.delete(client))
    this.#clients.add(client)
    return Promise.resolve(client)
  }

  end(): Promise<void> {
    this.#stopForwarding()
    this.#clients.clear()
    return Promise.resolve()
  }

  /** Ends the pool and its database. */
  async close(): Promise<void> {
    await this.end()
    await this.#database?.close()
  }

  async #answer<Row>(text: string, parameters: readonly unknown[] | undefined): Promise<Result<Row>> {
    if (this.#ended !== undefined) throw this.#ended.error
    const database = (this.#database ??= await this.#begin())
    try {
      return await answer(database, text, parameters)
    } catch (error) {
      if (isPanic(error) || isAtOdds(error)) this.#lose(error)
      throw error
    }
  }

  async #begin(): Promise<PGlite> {
    try {
      const database = await this.#open()
      this.#stopForwarding = database.onNotification((channel, payload) => {
        for (const client of this.#clients) client.emit('notification', { channel, payload })
      })
      return database
    } catch (error) {
      this.#rest(error)
      throw error
    }
  }

  /** Not even closed: it would not return. Who waits for notifications asks for them anew. */
  #lose(error: Error): void {
    this.#stopForwarding()
    this.#database = undefined
    this.#rest(error)
    for (const client of [...this.#clients]) if (client.listenerCount('error') > 0) client.emit('error', error)
  }

  #rest(error: unknown): void {
    this.#ended = { error }
    setTimeout(() => (this.#ended = undefined), this.#restMs).unref()
    this.#restMs = Math.min(2 * this.#restMs, REST_MS.most)
  }
}

/** Whether PostgreSQL has ended with this error. */
function isPanic(error: unknown): error is Error {
  return error instanceof messages.DatabaseError && (error.severity === 'PANIC' || error.severity === 'FATAL')
}

/**
 * Whether this database takes a file for there that is not (`duplicate_file`, `undefined_file`). A file that could not be made, since the disk was
 * full or too many files were open, stays among the names that PGlite knows, and every later query that needs it fails.
 */
function isAtOdds(error: unknown): error is Error {
  return error instanceof messages.DatabaseError && (error.code === '58P02' || error.code === '58P01')
}

/** A client of the pool. It has no network connection that could break. */
class EmbeddedClient extends EventEmitter implements Client {
  readonly connection = { stream: { setKeepAlive: () => {} } }
  readonly release: () => void
  readonly #ask: Ask

  constructor(ask: Ask, release: () => void) {
    super()
    this.#ask = ask
    this.release = release
  }

  query<Row>(text: string, parameters?: readonly unknown[]): Promise<Result<Row>> {
    return this.#ask(text, parameters)
  }
}

async function answer<Row>(
  database: PGlite,
  text: string,
  parameters: readonly unknown[] | undefined,
): Promise<Result<Row>> {
  // Only the simple protocol takes several statements at once. The rows of such a script are not used.
  if (parameters === undefined && !isSingle(text)) {
    await database.exec(text)
    return { rows: [], rowCount: null }
  }
  const { rows, rowCount = null } = await database.query<Row>(text, [...(parameters ?? [])])
  return { rows, rowCount }
}

function isSingle(text: string): boolean {
  return !text.trimEnd().replace(/;$/, '').includes(';')
}

/** Work that blocks this thread: one piece after another, as they were asked for, and a few in one turn of the event loop. */
class OneAfterAnother {
  readonly #inTurn: number
  #before: Promise<unknown> = Promise.resolve()
  /** How many pieces were begun in this turn. */
  #begun = 0

  constructor({ inTurn }: { inTurn: number }) {
    this.#inTurn = inTurn
  }

  begin<Done>(work: () => Promise<Done>): Promise<Done> {
    const begun = this.#before.then(async () => {
      if (this.#begun >= this.#inTurn) await nextTurn()
      // Called in the next turn before what waits for it: that is put behind it in the queue.
      if (this.#begun === 0) setImmediate(() => (this.#begun = 0))
      this.#begun += 1
      return await work()
    })
    this.#before = begun.catch(() => {})
    return begun
  }
}
