import type Database from 'better-sqlite3'
import { UsageError } from '../../errors/errors.ts'
import { WRITES } from '../../errors/faults.ts'
import type { Connection } from '../../store/sqlite/connect.ts'

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

export const NO_STATEMENT = 'There is no statement. For example: customer-mirror sql "SELECT 1"'

/** The first word of a statement, and the statement from there on. Throws UsageError where there is none. */
export function firstWord(sql: string): { word: string; text: string } {
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
export function textFrom(sql: string): string {
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
export const REFUSED: Readonly<Record<string, string>> = {
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
function refuseExplained(text: string): void {
  const explained = text.replace(/^explain\b/i, '').replace(BEFORE_WORD, '')
  const rest = explained
    .replace(/^query\b/i, '')
    .replace(BEFORE_WORD, '')
    .replace(/^plan\b/i, '')
    .replace(BEFORE_WORD, '')
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
