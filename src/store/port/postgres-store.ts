import { vacuum } from '../postgres/vacuum.ts'
import type { Database, Session as PostgresSession } from './postgres-session.ts'
import { type Sql, written } from './sql.ts'
import type { Session, Store } from './store.ts'

/** A transaction in PostgreSQL, with its connection for what must be fast. */
export type ServerSession = Session & { readonly server: PostgresSession }

/** A mirror in a schema of PostgreSQL. */
export function postgresStore(database: Database): Store {
  return {
    kind: 'postgres',
    place: database.address,
    read: (work) => database.read((server) => work(postgresSession(server))),
    write: (work, _writing, once) => database.write((server) => work(postgresSession(server)), once),
    purge: (tables) => vacuum(database, tables),
    settle: async () => true,
    close: () => database.close(),
  }
}

const sessions = new WeakMap<PostgresSession, ServerSession>()

/** A transaction that is under way on a connection. */
export function postgresSession(server: PostgresSession): ServerSession {
  let session = sessions.get(server)
  if (session === undefined) sessions.set(server, (session = newSession(server)))
  return session
}

function newSession(server: PostgresSession): ServerSession {
  const sent = (sql: Sql): [string, ...unknown[]] => {
    const { text, values } = written(sql, 'postgres')
    return [text, ...values]
  }
  return {
    kind: 'postgres',
    server,
    all: (sql) => server.all(...sent(sql)),
    first: (sql) => server.first(...sent(sql)),
    numbers: async (sql) => {
      // As bytes: a third of their size as text, and no row for each.
      const [query, ...values] = sent(sql)
      const wrapped = `SELECT string_agg(int4send(number::integer), ''::bytea) AS bytes FROM (${query}) AS asked (number)`
      const found = await server.first<{ bytes: Buffer | null }>(wrapped, ...values)
      const bytes = found?.bytes ?? Buffer.alloc(0)
      return Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readInt32BE(4 * at))
    },
    run: (sql) => server.run(...sent(sql)),
  }
}
