import Database from 'better-sqlite3'
import { UsageError } from '../errors/errors.ts'
import { noRoomFor, SEVERAL, WRITES } from '../errors/faults.ts'
import { sqliteError } from '../store/port/sqlite-errors.ts'
import type { Connection } from '../store/sqlite/connect.ts'

/** A value as SQLite has it; an INTEGER is a bigint, and a REAL a number. */
export type SqlValue = string | number | bigint | Buffer | null

/** About how much of a row is in memory, in characters and bytes. */
export function lengthOf(row: readonly SqlValue[]): number {
  let length = 0
  for (const value of row) length += typeof value === 'object' || typeof value === 'string' ? (value?.length ?? 0) : 8
  return length
}

/** A prepared statement that yields rows as arrays, and cannot write. */
export type ReadableStatement = Database.Statement<unknown[], SqlValue[]>

/**
 * Prepares the one statement of `sql`. Throws UsageError, before anything of it is run, unless it only reads. Some statements act while they are
 * prepared, or are called read-only by SQLite although they open or write other files (ATTACH, VACUUM INTO), so the first word decides before
 * SQLite does.
 */
export function prepareToRead(db: Connection, sql: string): ReadableStatement {
  const { word, text } = readingStatement(sql, ['SELECT', 'WITH', 'VALUES', 'EXPLAIN'])
  // Even the explanation of a PRAGMA runs it.
  if (word === 'EXPLAIN') readingStatement(explained(text), ['SELECT', 'WITH', 'VALUES'])
  const statement = db.prepare<unknown[], SqlValue[]>(sql)
  if (!statement.readonly || !statement.reader) throw new UsageError(WRITES)
  return statement.raw()
}

/** The first word of a statement, and the statement from there on. Throws UsageError for one that begins with none of these words. */
export function readingStatement(sql: string, words: readonly string[]): { word: string; text: string } {
  if (sql.includes('\0'))
    throw new UsageError('The statement contains a NUL character: remove it, or save the statement as UTF-8.')
  const text = sql.replace(BEFORE_WORD, '')
  if (text === '') throw new UsageError(NO_STATEMENT)
  const [word = ''] = /^[.\\]?\w*/.exec(text) ?? []
  if (words.includes(word.toUpperCase())) return { word: word.toUpperCase(), text }
  throw new UsageError(
    `sql runs one statement that only reads. It starts with ${words.join(', ')}, not with "${word || text[0]}". The tables and their ` +
      'columns: customer-mirror sql --tables',
  )
}

const NO_STATEMENT = 'There is no statement. For example: customer-mirror sql "SELECT 1"'

/** White space, comments and empty statements. */
const BEFORE_WORD = /^(?:[\s\uFEFF;]+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$))+/

function explained(sql: string): string {
  return [/^explain\b/i, /^query\b/i, /^plan\b/i].reduce(
    (text, word) => text.replace(word, '').replace(BEFORE_WORD, ''),
    sql,
  )
}

/** What went wrong with a statement on the file: UsageError for a mistake in it, MirrorUnusable for the file. */
export function statementError(error: unknown, file: string): unknown {
  if (error instanceof Database.SqliteError) return ofSqlite(error, file)
  if (!(error instanceof Error)) return error
  if (/more than one statement/.test(error.message)) return new UsageError(SEVERAL)
  if (/contains no statements/.test(error.message)) return new UsageError(NO_STATEMENT)
  if (/parameter/i.test(error.message))
    return new UsageError('The statement has parameters (?, :name, @name or $name). Write their values into it.')
  return error
}

function ofSqlite(error: InstanceType<typeof Database.SqliteError>, file: string): unknown {
  if (MISTAKES.test(error.code)) return new UsageError(`The statement failed: ${error.message}`)
  if (/^SQLITE_(FULL|NOMEM)/.test(error.code)) return new UsageError(noRoomFor(error.message))
  return sqliteError(error, file)
}

/** What SQLite says of the statement, and not of the file. */
const MISTAKES = /^SQLITE_(ERROR|MISMATCH|TOOBIG|RANGE|CONSTRAINT|MISUSE|AUTH)/
