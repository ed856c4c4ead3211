import { EventEmitter } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { PGlite } from '@electric-sql/pglite'
import type { PostgresQueueBackend, runMigrations } from 'bullmq'

type Session = Parameters<typeof runMigrations>[0]
type Pool = PostgresQueueBackend['connection']['pool']
type Client = Awaited<ReturnType<Pool['connect']>>
type Result<Row> = { rows: Row[]; rowCount: number | null }

/**
 * An in-process PostgreSQL as the pool of connections that the queue expects. There is one session behind all of them, so
 * a transaction must not be left open while others ask: migrations run before anything else does.
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

  /** The one session there is. */
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

/** What a borrower of the pool holds. Nothing can drop between it and the database, so it is always alive. */
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
    // A query holds this thread to its end. Timers, sockets and signals get their turn between two of them.
    await nextTurn()
  }
}

function isSingle(text: string): boolean {
  return !text.trimEnd().replace(/;$/, '').includes(';')
}
