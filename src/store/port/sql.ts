/** Which database a statement is written for. */
export type Kind = 'sqlite' | 'postgres'

/** What may stand in a statement: a value, which is always a parameter, or a part of a statement. */
export type Part = Sql | Fork | string | number | boolean | null | undefined | Uint8Array | readonly unknown[]

/** A statement, or a part of one, with its values. */
export class Sql {
  readonly texts: readonly string[]
  readonly parts: readonly Part[]

  constructor(texts: readonly string[], parts: readonly Part[]) {
    this.texts = texts
    this.parts = parts
  }
}

/** What the databases say in different words. */
export class Fork {
  readonly sqlite: Sql
  readonly postgres: Sql

  constructor(sqlite: Sql, postgres: Sql) {
    this.sqlite = sqlite
    this.postgres = postgres
  }
}

/** A statement: sql`SELECT * FROM runs WHERE id = ${id}`. */
export function sql(texts: TemplateStringsArray, ...parts: readonly Part[]): Sql {
  return new Sql(texts, parts)
}

/** Text of a statement as it is: a name, or a condition of this program; never what someone else wrote. */
export function text(words: string): Sql {
  return new Sql([words], [])
}

export function either(sqlite: Sql | string, postgres: Sql | string): Fork {
  return new Fork(asSql(sqlite), asSql(postgres))
}

/** Parts with a text between them. */
export function joined(parts: readonly Part[], between = ', '): Sql {
  if (parts.length === 0) return text('')
  return new Sql(['', ...parts.slice(1).map(() => between), ''], parts)
}

function asSql(part: Sql | string): Sql {
  return typeof part === 'string' ? text(part) : part
}

/** A statement as a database takes it. */
export type Written = { text: string; values: unknown[] }

export function written(statement: Sql, kind: Kind): Written {
  const into: Written = { text: '', values: [] }
  write(statement, kind, into)
  return into
}

function write({ texts, parts }: Sql, kind: Kind, into: Written): void {
  into.text += texts[0] ?? ''
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at]
    if (part instanceof Sql) write(part, kind, into)
    else if (part instanceof Fork) write(part[kind], kind, into)
    else {
      into.values.push(kind === 'sqlite' && typeof part === 'boolean' ? Number(part) : (part ?? null))
      into.text += kind === 'sqlite' ? '?' : `$${into.values.length}`
    }
    into.text += texts[at + 1] ?? ''
  }
}

/** A name in a statement. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Unix milliseconds in the mirror's form: `YYYY-MM-DD HH:MM:SS.SSS` in UTC, which compares with datetime('now'). */
export function sqlTime(unixMs: number): string {
  if (unixMs !== lastWritten.unixMs) {
    lastWritten = { unixMs, text: new Date(unixMs).toISOString().replace('T', ' ').replace('Z', '') }
  }
  return lastWritten.text
}

/** All rows of a transaction have the same time. */
let lastWritten = { unixMs: 0, text: '1970-01-01 00:00:00.000' }

/** A time of the mirror, as Unix milliseconds. Throws UnreadableValue for one that someone wrote in another form. */
export function fromSqlTime(time: unknown): number {
  // A file holds numbers and bytes in any column.
  const words = String(time)
  const unixMs = DATED.test(words) ? Date.parse(`${words.replace(' ', 'T')}Z`) : Number.NaN
  if (Number.isNaN(unixMs)) throw new UnreadableValue(`holds a time that cannot be read (${words.slice(0, 40)})`)
  return unixMs
}

const DATED = /^[+-]?\d{4,6}-\d\d-\d\d /

/** The time in a column of the mirror, as Unix milliseconds; undefined where there is none. */
export function timeIn(column: string | null | undefined): number | undefined {
  return column === null || column === undefined ? undefined : fromSqlTime(column)
}

/** A time as it was read, without the fraction of a second. */
export function secondOf(time: string): string {
  return time.slice(0, 'YYYY-MM-DD HH:MM:SS'.length)
}

/** A value in a column of the mirror that this program does not write there: someone changed it. */
export class UnreadableValue extends Error {
  override name = 'UnreadableValue' as const
}

/** What an error says of a value that cannot be read; undefined for any other error. */
export function unreadableIn(error: unknown): string | undefined {
  if (error instanceof UnreadableValue) return error.message
  // The message of JSON.parse quotes what may be a value of a customer.
  return error instanceof SyntaxError ? 'holds a text that should be JSON, and cannot be read' : undefined
}
