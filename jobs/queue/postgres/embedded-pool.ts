import { EventEmitter } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { PGlite } from '@electric-sql/pglite'
import type { PostgresQueueBackend, runMigrations } from 'bullmq'

type Session = Parameters<typeof runMigrations>[0]
type Pool = PostgresQueueBackend['connection']['pool']
type Client = Awaited<ReturnType<Pool['connect']>>
type Result<Row> = { rows: Row[]; rowCount: number | null }

/**
 * An in-process PostgreSQL, as the connection pool that the queue expects. All connections share one session, so a transaction
 * must not stay open between queries: migrations run before anything else.
 */
export class EmbeddedPool extends EventEmitter implements Pool {
  readonly #database: PGlite
  readonly #stopForwarding: () => void
  readonly #clients = new Set<EmbeddedClient>()

  constructor(database: PGlite) {
    super()
    this.#database = database
    this.#stopForwarding = database.onNotification((channel, payload) => {
      for (const client of this.#clients) client.emit('notification', { channel, payload })
    })
  }

  /** The only session. */
  session(): Session {
    return new EmbeddedClient(this.#database, () => {})
  }

  query<Row>(text: string, parameters?: readonly unknown[]): Promise<Result<Row>> {
    return ask(this.#database, text, parameters)
  }

  connect(): Promise<Client> {
    const client = new EmbeddedClient(this.#database, () => this.#clients.delete(client))
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
  readonly #database: PGlite

  constructor(database: PGlite, release: () => void) {
    super()
    this.#database = database
    this.release = release
  }

  query<Row>(text: string, parameters?: readonly unknown[]): Promise<Result<Row>> {
    return ask(this.#database, text, parameters)
  }
}

async function ask<Row>(
  database: PGlite,
  text: string,
  parameters: readonly unknown[] | undefined,
): Promise<Result<Row>> {
  try {
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
  } finally {
    // A query blocks this thread. Timers, sockets and signals run between two queries.
    await nextTurn()
  }
}

function isSingle(text: string): boolean {
  return !text.trimEnd().replace(/;$/, '').includes(';')
}
