import type { Session, Store, Writing } from './store.ts'

/** The connections to a PostgreSQL server, or to one in this process. */
export type Connections = {
  connect(): Promise<Client>
  end(): Promise<void>
}

/** One connection, for one transaction. The answer to several statements is that of the last. */
export type Client = {
  /** The number of the server's process, as it was told when the connection was made: a pooler gives one of its own. */
  readonly process?: number | undefined
  /** An answer is waited for no longer than `limitMs`, or as long as the connection has it. */
  query(
    sql: string,
    parameters?: unknown[],
    limits?: { limitMs: number },
  ): Promise<{ rows: unknown[]; rowCount: number | null }>
  /** With an error, the connection is closed and not used again. */
  release(error?: Error): void
}

/** An array of texts that may be many or large: an adapter sends it in the form that its server reads fastest. */
export class Texts {
  readonly values: readonly (string | null)[]

  constructor(values: readonly (string | null)[]) {
    this.values = values
  }
}

/** The rows of a statement, and how many it found or wrote. */
export type Answer<Row> = { rows: Row[]; count: number }

/** A transaction in PostgreSQL, in which the tables of the mirror are found by their names. */
export type ServerSession = Session & {
  /** A statement as text, with a value for $1 and so on. */
  query<Row>(sql: string, ...values: unknown[]): Promise<Answer<Row>>
}

/** A mirror in one schema of a PostgreSQL database. */
export type Database = Omit<Store, 'read' | 'write'> & {
  readonly schema: string
  read<Result>(work: (session: ServerSession) => Promise<Result>): Promise<Result>
  /**
   * One transaction that writes: all of it or nothing. The work is repeated if it met another transaction. `once` names it: if the
   * server is gone before it answers whether it was committed, the same call with the same object finds out, and returns the first
   * result if it was.
   */
  write<Result>(work: (session: ServerSession) => Promise<Result>, writing?: Writing, once?: object): Promise<Result>
  /** The same where there may be no mirror yet. It may be done twice. */
  make<Result>(work: (session: ServerSession) => Promise<Result>): Promise<Result>
  /** One statement outside a transaction, however long it takes, in which tables are named with their schema, and nothing else is named. */
  maintain(sql: string): Promise<void>
}
