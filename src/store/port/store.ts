import { fromSqlTime, type Kind, type Sql, UnreadableValue } from './sql.ts'

/** A transaction under way. */
export type Session = {
  readonly kind: Kind
  all<Row>(statement: Sql): Promise<Row[]>
  first<Row>(statement: Sql): Promise<Row | undefined>
  /** The numbers in the only column of a query, however many. */
  numbers(statement: Sql): Promise<number[]>
  run(statement: Sql): Promise<number>
}

export async function countOf(session: Session, statement: Sql): Promise<number> {
  const [count = 0] = await session.numbers(statement)
  return count
}

/** The rows of a query as this program holds them: `read_as_of` is readAsOfMs, NULL is undefined, and columns of truth and of JSON are read. */
export async function records<Row>(session: Session, statement: Sql): Promise<Row[]> {
  const rows = await session.all<Record<string, unknown>>(statement)
  const named = rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([column, value]) => field(column, value))),
  )
  // The border to SQL, as in `all`.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return named as Row[]
}

function field(column: string, value: unknown): [name: string, value: unknown] {
  const isTime = /_(?:at|as_of)$/.test(column)
  const name = (isTime ? `${column}_ms` : column).replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  if (value === null) return [name, undefined]
  if (column.startsWith('is_') || column === 'beyond_end') return [name, Boolean(value)]
  if (isTime) return [name, fromSqlTime(value)]
  return [name, JSON_COLUMN.test(column) ? jsonIn(column, value) : value]
}

function jsonIn(column: string, stored: unknown): unknown {
  const value: unknown = typeof stored === 'string' ? JSON.parse(stored) : stored
  if (column.endsWith('reasons') && !Array.isArray(value))
    throw new UnreadableValue('holds reasons that cannot be read')
  return value
}

const JSON_COLUMN = /(?:^|_)(?:reasons|warnings|certificate|policy|unfilled|rejected)$/

/** The results of work whose parts need no answer of each other: sent together, in this order. All have ended before the first error is thrown. */
export async function together<Work extends readonly Promise<unknown>[]>(
  ...work: Work
): Promise<{ -readonly [Part in keyof Work]: Awaited<Work[Part]> }> {
  await Promise.allSettled(work)
  return Promise.all(work)
}

export const LEFT_OUT = Promise.resolve(undefined)

/** How a transaction writes. Each is for SQLite alone: PostgreSQL writes no commit without its WAL, and overwrites nothing itself. */
export type Writing = {
  /** What is deleted or replaced is overwritten in the file, and the commit is on the disk when it returns. */
  securely?: boolean
  /** The commit is on the disk when it returns. */
  durably?: boolean
  /** Keys of an index are sorted in temporary files, where a folder has room for them: those of a million customers would take 140 MB of memory. */
  sorting?: boolean
  /** Also after the file was moved away, or a newer version has changed it: a failed run is recorded there. */
  anywhere?: boolean
}

/** A mirror in one database. */
export type Store<Own extends Session = Session> = {
  readonly kind: Kind
  /** For messages: the file, or the address without user and password. */
  readonly place: string
  readonly read: <Result>(work: (session: Own) => Promise<Result>) => Promise<Result>
  /**
   * One transaction: all of its writes, or none. PostgreSQL repeats the work if it met another one. If the server is gone before it says
   * whether it was committed, the same call with the same `once` finds out, and returns the first result if it was.
   */
  readonly write: <Result>(work: (session: Own) => Promise<Result>, writing?: Writing, once?: object) => Promise<Result>
  /** Has the bytes of deleted rows freed or overwritten; whether that was possible now. */
  purge(tables: readonly string[]): Promise<boolean>
  /** Has what was deleted or replaced leave the WAL of a file; whether that was possible now. */
  settle(): Promise<boolean>
  close(): Promise<void>
}
