import type { Statement } from 'better-sqlite3'
import { isPostgres } from '../address/mirror-address.ts'
import { requireKnown } from '../config/suggestion.ts'
import { UsageError } from '../errors/errors.ts'
import { isOfSqlite } from '../errors/faults.ts'
import { closing } from '../store/mirror.ts'
import { either, joined, secondOf, type Sql, sql, text, written, type Written } from '../store/port/sql.ts'
import { publicColumns } from '../model/public-tables.ts'
import { sqliteError } from '../store/port/sqlite-errors.ts'
import type { Connection } from '../store/sqlite/connect.ts'
import { openToRead } from '../store/sqlite/open-to-read.ts'

/* Rows of a mirror or a copy, from one state of it, some at a time. Throws UsageError for a mistake in what is asked for, and MirrorUnusable. */

/** A value as SQLite has it; an INTEGER is a bigint, and a REAL a number. */
export type SqlValue = string | number | bigint | Buffer | null

/** Some of the rows, with the names of their columns. The first ones may be none. */
export type SomeRows = { columns: string[]; rows: SqlValue[][] }

type HowRead = {
  /** A file of which a table has another shape is refused. */
  asMade?: boolean
  /** When a server ends it; 0 for never. */
  limitMs?: number
  signal?: AbortSignal | undefined
}

/** A statement of ours takes no longer on any mirror. */
const READING_MS = 600_000

/** The rows of one statement that only reads, from one state. On a server, an abort ends it. */
export async function* readStatement(
  place: string,
  statement: Sql | string,
  { asMade = false, limitMs = READING_MS, signal }: HowRead = {},
): AsyncGenerator<SomeRows, void> {
  const asked = typeof statement === 'string' ? text(statement) : statement
  if (isPostgres(place)) {
    const { readOnServer } = await import('./postgres-statement.ts')
    yield* readOnServer(place, written(asked, 'postgres'), { limitMs, signal })
    return
  }
  const db = openToRead(place, { asMade })
  try {
    yield* rowsIn(db, written(asked, 'sqlite'))
  } catch (error) {
    throw statementError(error, place)
  } finally {
    db.close()
  }
}

async function allOf(place: string, statement: Sql): Promise<SqlValue[][]> {
  return (await Array.fromAsync(readStatement(place, statement))).flatMap(({ rows }) => rows)
}

/** Those of these columns that a table has: a copy may lack some. */
export async function columnsThere(place: string, columns: readonly string[], table = 'customers') {
  if (isPostgres(place)) return columns
  const found = await allOf(place, sql`SELECT name FROM pragma_table_info(${table})`)
  const there = new Set(found.flat())
  return columns.filter((column) => there.has(column))
}

/** Some rows at a time, and one that is large alone: it may be as large as memory allows. The first have the columns alone. */
function* rowsIn(db: Connection, { text: statement, values }: Written): Generator<SomeRows, void> {
  const prepared = prepareToRead(db, statement)
  const columns = prepared.columns().map(({ name }) => name)
  yield { columns, rows: [] }
  let rows: SqlValue[][] = []
  let length = 0
  for (const row of prepared.iterate(...values)) {
    rows.push(row)
    length += lengthOf(row)
    if (length < AT_ONCE) continue
    yield { columns, rows }
    rows = []
    length = 0
  }
  yield { columns, rows }
}

/** Characters and bytes. */
const AT_ONCE = 16 * 1024

/** About how much of a row is in memory, in characters and bytes. */
export function lengthOf(row: readonly SqlValue[]): number {
  let length = 0
  for (const value of row) length += typeof value === 'object' || typeof value === 'string' ? (value?.length ?? 0) : 8
  return length
}

/** Prepares one statement that only reads, whose rows are arrays. Throws UsageError before anything of it is run. */
export function prepareToRead(db: Connection, asked: string): Statement<unknown[], SqlValue[]> {
  // The first word decides: SQLite runs some statements while it prepares them, and calls some read-only that write (ATTACH, VACUUM INTO).
  readingStatement(asked, ['SELECT', 'WITH', 'VALUES'])
  const statement = db.prepare<unknown[], SqlValue[]>(asked)
  if (!statement.readonly || !statement.reader) throw new UsageError(WRITES)
  return statement.raw()
}

/** The statement from its first word on. Throws UsageError for one that begins with none of these words. */
export function readingStatement(asked: string, words: readonly string[]): string {
  if (asked.includes('\0'))
    throw new UsageError('The statement contains a NUL character: remove it, or save the statement as UTF-8.')
  const rest = asked.replace(BEFORE_WORD, '')
  if (rest === '') throw new UsageError(NO_STATEMENT)
  const [word = ''] = /^[.\\]?\w*/.exec(rest) ?? []
  if (words.includes(word.toUpperCase())) return rest
  throw new UsageError(
    `sql runs one statement that only reads. It starts with ${words.join(', ')}, not with "${word || rest[0]}". The tables and their ` +
      "columns: 'customer-mirror sql --tables'",
  )
}

const WRITES = 'The statement would write. sql only reads: the mirror is written by runs alone.'

const NO_STATEMENT = 'There is no statement. For example: customer-mirror sql "SELECT 1"'

/** White space, comments and empty statements. */
const BEFORE_WORD = /^(?:[\s\uFEFF;]+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$))+/

/** What went wrong with a statement on the file: UsageError for a mistake in it, which the driver finds or SQLite; MirrorUnusable for the file. */
function statementError(error: unknown, file: string): unknown {
  const isOfDriver = error instanceof RangeError
  if (isOfDriver || (isOfSqlite(error) && MISTAKES.test(String(error.code))))
    return new UsageError(`The statement failed: ${error.message}`)
  return sqliteError(error, file)
}

/** What SQLite says of the statement, or of the room for what it sorts, and not of the file. */
const MISTAKES = /^SQLITE_(ERROR|MISMATCH|TOOBIG|RANGE|CONSTRAINT|MISUSE|AUTH|FULL|NOMEM)/

export type CustomersFilter = {
  columns: readonly string[]
  organization?: string | undefined
  id?: string | undefined
  /** A part of the name, the username or the e-mail address, in any case and with or without accents. */
  search?: string | undefined
  language?: string | undefined
  includeRemoved: boolean
  /** How many at most; undefined for all of them. */
  limit?: number | undefined
}

const SEARCHED: readonly string[] = ['name', 'username', 'email']

/** The customers in the order of organization and id; of an organization that the mirror or the configuration knows. */
export async function* readCustomers(
  place: string,
  filter: CustomersFilter,
  { configured = [], signal }: { configured?: readonly string[]; signal?: AbortSignal } = {},
): AsyncGenerator<SomeRows, void> {
  const { organization, id, search, language, limit = Infinity } = filter
  await requireMirrored(place, organization, configured)
  const there = await columnsThere(place, [...filter.columns, ...SEARCHED])
  const columns = filter.columns.filter((name) => there.includes(name))
  const searched = search === undefined ? [] : SEARCHED.filter((name) => there.includes(name))
  if (search !== undefined && searched.length === 0)
    throw new UsageError(`This copy has no column ${SEARCHED.join(', ')}: it was published without personal data.`)
  const wanted = folded(search ?? '')
  const isFound = (values: readonly SqlValue[]) =>
    search === undefined || values.some((value) => typeof value === 'string' && folded(value).includes(wanted))
  // Without a fraction of a second, as in SQLite.
  const shown = (name: string, value: SqlValue) =>
    name === 'created_at_utc' && typeof value === 'string' ? secondOf(value) : value
  const conditions = [
    ...(organization === undefined ? [] : [sql`organization = ${organization}`]),
    ...(id === undefined ? [] : [sql`id = ${id}`]),
    ...(language === undefined ? [] : [sql`language = ${language}`]),
    ...(search === undefined ? [] : [mayMention(searched, wanted)]),
    ...(filter.includeRemoved ? [] : [sql`removed_at IS NULL`]),
  ]
  const where = conditions.length === 0 ? sql`` : sql`WHERE ${joined(conditions, ' AND ')}`
  const selected = text([...columns, ...searched].join(', '))
  const statement = sql`SELECT ${selected} FROM customers ${where} ORDER BY organization, id`
  let left = limit
  for await (const some of readStatement(place, statement, { asMade: true, signal })) {
    const found = some.rows.filter((row) => isFound(row.slice(columns.length)))
    const rows = found.slice(0, left).map((row) => columns.map((name, at) => shown(name, row[at] ?? null)))
    left -= rows.length
    yield { columns: some.columns.slice(0, columns.length), rows }
    if (left === 0) return
  }
}

/** Throws UsageError for an organization that neither the mirror nor the configuration knows. */
async function requireMirrored(place: string, organization: string | undefined, configured: readonly string[]) {
  if (organization === undefined) return
  const runs = await allOf(place, sql`SELECT DISTINCT organization FROM runs ORDER BY 1`)
  requireKnown([organization], [...configured, ...runs.map(([id]) => String(id))])
}

/** A text for comparing as people type it: composed or not, in any case, without accents. */
export function folded(typed: string): string {
  if (ASCII.test(typed)) return typed.toLowerCase()
  const bare = typed.normalize('NFKD').replaceAll(ACCENTS, '').normalize('NFC')
  // The capitals of ı and ß are I and SS.
  return bare
    .toUpperCase()
    .toLowerCase()
    .replaceAll(APART, (letter) => PLAIN[letter] ?? letter)
}

const ASCII = /^[\x20-\x7e]*$/
const ACCENTS = /[\u0300-\u036f]/g
/** Letters that are not composed of another one and an accent, and the form of sigma at the end of a word. */
const PLAIN: Readonly<Record<string, string>> = { ø: 'o', ł: 'l', đ: 'd', æ: 'ae', œ: 'oe', þ: 'th', ð: 'd', ς: 'σ' }
const APART = new RegExp(`[${Object.keys(PLAIN).join('')}]`, 'g')

/** Whether a row may be found. Only ASCII is lowered ("C": Turkish has another small I); other texts are decided here. */
function mayMention(searched: readonly string[], wanted: string): Sql {
  const found = searched.map((column) => {
    const name = text(column)
    const at = either(sql`instr(lower(${name}), ${wanted})`, sql`strpos(lower(${name} COLLATE "C"), ${wanted})`)
    return sql`${at} > 0 OR octet_length(${name}) <> length(${name})`
  })
  return sql`(${joined(found, ' OR ')})`
}

/** Runs `work` with a file that has what readers see: the mirror, or a private copy of one in PostgreSQL. Throws Interrupted after an abort. */
export async function withFileToRead<Result>(
  mirror: string,
  work: (file: string) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  if (!isPostgres(mirror)) return work(mirror)
  const { makePrivateCopy } = await import('./move.ts')
  return closing(await makePrivateCopy(mirror, signal), ({ path }) => work(path))
}

/** The changes after a seq, in order. Throws UsageError for one after which some were deleted, or that was never given, as `requireFeed` does. */
export async function* readChanges(
  place: string,
  { organization, since }: { organization?: string | undefined; since: number },
): AsyncGenerator<SomeRows, void> {
  if (!(since >= 0))
    throw new UsageError('Changes are read after a seq: since is 0, or the seq of the last change that was read.')
  await requireMirrored(place, organization, [])
  const names = publicColumns('changes').map(({ name }) => name)
  const columns = await columnsThere(place, names, 'changes')
  const of = (table: string) =>
    organization === undefined ? sql`TRUE` : sql`${text(table)}.organization = ${organization}`
  const deleted = sql`(SELECT coalesce(max(feed_seq), 0) FROM horizons WHERE ${of('horizons')})`
  // In one statement with the changes, since retention may delete some of them meanwhile.
  const changes = sql`SELECT ${text(columns.join(', '))}, ${deleted} AS deleted FROM changes WHERE seq > ${since} AND ${of('changes')} ORDER BY seq`
  let isFound = false
  for await (const some of readStatement(place, changes, { asMade: true })) {
    for (const row of some.rows) requireFeed(since, { given: since, deleted: Number(row.at(-1)) })
    isFound ||= some.rows.length > 0
    yield { columns: [...columns], rows: some.rows.map((row) => row.slice(0, -1)) }
  }
  if (isFound) return
  for (const [seq, given] of await allOf(place, sql`SELECT ${deleted}, ${GIVEN}`))
    requireFeed(since, { given: Number(given ?? since), deleted: Number(seq) })
}

/** The last seq that was given to a change, also to one that was deleted; NULL where this user may not know. */
const GIVEN = either(
  `(SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'changes')`,
  `(SELECT CASE WHEN has_sequence_privilege(name, 'SELECT') AND NOT pg_is_in_recovery()
    THEN coalesce(pg_sequence_last_value(name::regclass), 0) END FROM pg_get_serial_sequence('changes', 'seq') AS name)`,
)

/** Throws UsageError where changes after `since` were deleted, or where that seq was never given: a reader who has read up to there would miss some. */
export function requireFeed(since: number, { given, deleted }: { given: number; deleted: number }): void {
  const again = 'Start again from a copy, and continue from its last seq.'
  if (since > given) throw new UsageError(`There is no change ${since} yet: the last one is ${given}. ${again}`)
  if (since < deleted)
    throw new UsageError(`The changes before ${deleted + 1} were deleted, or undone by a restore. ${again}`)
}
