import { EventEmitter } from 'node:events'
import type { PGlite } from '@electric-sql/pglite'
import type { PostgresQueueBackend, runMigrations } from 'bullmq'
import { OneAfterAnother } from './one-after-another.ts'

type Session = Parameters<typeof runMigrations>[0]
type Pool = PostgresQueueBackend['connection']['pool']
type Client = Awaited<ReturnType<Pool['connect']>>
type Result<Row> = { rows: Row[]; rowCount: number | null }
type Ask = <Row>(text: string, parameters?: readonly unknown[]) => Promise<Result<Row>>

/** Queries in one turn of the event loop; each takes half a millisecond. With a thousand organizations a thousand come together. */
const IN_TURN = 50

/**
 * An in-process PostgreSQL, as the connection pool that the queue expects. All connections share one session, so a transaction
 * must not stay open between queries: migrations run before anything else.
 */
export class EmbeddedPool extends EventEmitter implements Pool {
  readonly #ask: Ask
  readonly #stopForwarding: () => void
  readonly #clients = new Set<EmbeddedClient>()

  constructor(database: PGlite) {
    super()
    // A query blocks this thread, and the database begins the next one at once: timers, sockets and signals would wait for all of them.
    const queries = new OneAfterAnother({ inTurn: IN_TURN })
    this.#ask = (text, parameters) => queries.begin(() => answer(database, text, parameters))
    this.#stopForwarding = database.onNotification((channel, payload) => {
      for (const client of this.#clients) client.emit('notification', { channel, payload })
    })
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
  if (parameters !== undefined) {
    const { rows, rowCount = null } = await database.query<Row>(text, [...parameters])
    return { rows, rowCount }
  }
  // Only the simple protocol takes several statements at once. The rows of such a script are not used.
  if (!isSingle(text)) {
    await database.exec(text)
    return { rows: [], rowCount: null }
  }
  const { rows, rowCount = null } = await database.query<Row>(text)
  return { rows, rowCount }
}

function isSingle(text: string): boolean {
  return !text.trimEnd().replace(/;$/, '').includes(';')
}
