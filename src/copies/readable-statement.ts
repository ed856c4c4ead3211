import Database from 'better-sqlite3'
import { UsageError } from '../errors/errors.ts'
import { noRoomFor, SEVERAL, WRITES } from '../errors/faults.ts'
import { sqliteError } from '../store/port/sqlite-errors.ts'
import type { Connection } from '../store/sqlite/connect.ts'

/** A value as SQLite has it; an INTEGER is a bigint, and a REAL a number. */
export type SqlValue = string | number | bigint | Buffer | null

/** A prepared statement that yields rows as arrays, and cannot write. */
export type ReadableStatement = Database.Statement<unknown[], SqlValue[]>

/**
 * Prepares the one statement of `sql`. Throws UsageError, before anything of it is run, unless it only reads: SELECT, WITH,
 * VALUES, EXPLAIN, or a PRAGMA that shows something. Some statements act while they are prepared, or are called read-only by
 * SQLite although they open or write other files (ATTACH, VACUUM INTO), so the first word decides before SQLite does.
 */
export function prepareToRead(db: Connection, sql: string): ReadableStatement {
  refuseByFirstWord(sql)
  const statement = db.prepare<unknown[], SqlValue[]>(sql)
  if (!statement.readonly || !statement.reader) throw new UsageError(WRITES)
  return statement.raw()
}

const NO_STATEMENT = 'There is no statement. For example: customer-mirror sql "SELECT 1"'

/** The first word of a statement, and the statement from there on. Throws UsageError where there is none. */
function firstWord(sql: string): { word: string; text: string } {
  if (sql.includes('\0'))
    throw new UsageError('The statement contains a NUL character: remove it, or save the statement as UTF-8.')
  const text = textFrom(sql)
  const [word = ''] = /^[.\\]?\w*/.exec(text) ?? []
  if (text === '') throw new UsageError(NO_STATEMENT)
  if (/^[.\\]/.test(word))
    throw new UsageError(
      `${word} is a command of the program ${word.startsWith('.') ? 'sqlite3' : 'psql'}. To list the tables: customer-mirror sql --tables`,
    )
  return { word, text }
}

/** A text without the white space, comments and empty statements at its beginning. */
function textFrom(sql: string): string {
  return sql.replace(BEFORE_WORD, '')
}

function refuseByFirstWord(sql: string): void {
  const { word, text } = firstWord(sql)
  const key = word.toUpperCase()
  if (READS.has(key)) return
  if (key === 'EXPLAIN') refuseExplained(text)
  else if (key === 'PRAGMA') refusePragma(text)
  else
    throw new UsageError(
      REFUSED[key] ?? `A statement starts with SELECT, WITH, VALUES, EXPLAIN or PRAGMA, not with "${word || text[0]}".`,
    )
}

/** White space, comments and empty statements. */
const BEFORE_WORD = /^(?:[\s\uFEFF;]+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$))+/

const READS = new Set(['SELECT', 'WITH', 'VALUES'])

const ATTACHES = 'sql reads one file, and attaches no other one. Name the file to read with --mirror.'
const ENDS_BY_ITSELF = 'sql runs one statement on one state of the mirror, so it needs no transaction.'
const REFUSED: Readonly<Record<string, string>> = {
  ATTACH: ATTACHES,
  DETACH: ATTACHES,
  ...Object.fromEntries(
    ['BEGIN', 'COMMIT', 'END', 'ROLLBACK', 'SAVEPOINT', 'RELEASE'].map((word) => [word, ENDS_BY_ITSELF]),
  ),
  ...Object.fromEntries(
    ['ALTER', 'ANALYZE', 'CREATE', 'DELETE', 'DROP', 'INSERT', 'REINDEX', 'REPLACE', 'UPDATE', 'VACUUM'].map((word) => [
      word,
      WRITES,
    ]),
  ),
}

/** Even the explanation of a PRAGMA runs it. */
function refuseExplained(sql: string): void {
  let rest = sql
  for (const word of [/^explain\b/i, /^query\b/i, /^plan\b/i]) rest = textFrom(rest.replace(word, ''))
  const [word = ''] = /^\w*/.exec(rest) ?? []
  if (!READS.has(word.toUpperCase())) throw new UsageError('sql explains SELECT, WITH and VALUES only.')
}

function refusePragma(text: string): void {
  const [start = '', name = ''] = /^pragma\s+(?:\w+\s*\.\s*)?(\w+)/i.exec(text) ?? []
  const key = name.toLowerCase()
  if (SHOWN_WITH_ARGUMENT.has(key)) return
  const isAlone = text.slice(start.length).replace(BEFORE_WORD, '') === ''
  if (SHOWN.has(key) && isAlone) return
  const known = [...SHOWN_WITH_ARGUMENT, ...SHOWN].join(', ')
  const given = SHOWN.has(key) ? ' when it is given a value' : ''
  throw new UsageError(`PRAGMA ${name} is not one that only reads${given}. These are: ${known}.`)
}

/** What these are given says what to show, such as a table. */
const SHOWN_WITH_ARGUMENT = new Set([
  ...['table_info', 'table_xinfo', 'table_list', 'index_list', 'index_info', 'index_xinfo', 'foreign_key_list'],
  ...['integrity_check', 'quick_check', 'foreign_key_check'],
])

/** These write when they are given a value. */
const SHOWN = new Set([
  ...['application_id', 'user_version', 'schema_version', 'encoding', 'page_count', 'page_size', 'freelist_count'],
  ...['database_list', 'collation_list', 'function_list', 'module_list', 'pragma_list', 'compile_options'],
])

/**
 * The statement without what stands before its first word. Throws UsageError unless it begins as one that reads does, with the reason
 * in our words. The server makes sure that nothing is written: it runs the statement in a READ ONLY transaction.
 */
export function readablePostgres(sql: string): string {
  const { word, text } = firstWord(sql)
  const key = word.toUpperCase()
  if (READS_ON_SERVER.has(key)) return text
  if (key === 'EXPLAIN') {
    if (!READS_ON_SERVER.has(firstWord(explained(text)).word.toUpperCase()))
      throw new UsageError('sql explains SELECT, WITH, VALUES and TABLE only.')
    return text
  }
  if (key === 'PRAGMA')
    throw new UsageError(
      'PRAGMA is of SQLite, and this mirror is in PostgreSQL. The tables and columns: customer-mirror sql --tables',
    )
  throw new UsageError(
    REFUSED[key] ??
      `A statement starts with SELECT, WITH, VALUES, TABLE, EXPLAIN or SHOW, not with "${word || text[0]}".`,
  )
}

const READS_ON_SERVER = new Set(['SELECT', 'WITH', 'VALUES', 'TABLE', 'SHOW'])

/** What stands behind EXPLAIN and its options. */
function explained(text: string): string {
  return textFrom(text.replace(/^explain\b/i, '')).replace(/^(?:\([^)]*\)|(?:analyze\b|verbose\b|\s+)+)\s*/i, '')
}

/** What went wrong with a statement on the file: UsageError for a mistake in it, MirrorUnusable for the file. */
export function statementError(error: unknown, file: string): unknown {
  if (error instanceof Database.SqliteError) return ofSqlite(error, file)
  if (!(error instanceof Error)) return error
  if (/more than one statement/.test(error.message)) return new UsageError(SEVERAL)
  if (/contains no statements/.test(error.message)) return new UsageError(NO_STATEMENT)
  if (/string length|string longer/i.test(error.message))
    return new UsageError('A value is longer than can be printed. Ask for a part of it, with substr(value, 1, 1000).')
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
