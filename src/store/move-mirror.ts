import { Interrupted } from '../errors/errors.ts'
import type { ServerSession } from './port/postgres-connections.ts'
import { either, given, joined, quoted, sql, type Sql, text } from './port/sql.ts'
import type { SqliteSession } from './port/sqlite-store.ts'
import { type Session, together } from './port/store.ts'
import { rowIdsFrom, rowIdsIn } from './runs/list-memory.ts'
import { NUMBERED, type Table, TABLES_OF_SERVER } from './schema/schema.ts'
import type { Connection } from './sqlite/connect.ts'
import { continueAfter } from './sqlite/open-to-read.ts'

/** What each mirror makes for itself, or needs no more. */
const OWN: ReadonlySet<string> = new Set(['dictionary', 'leases', 'mirror_schema', 'commits'])

/** Every table that a mirror needs to go on as if nothing had happened. Rows come after those that they refer to. */
export const MOVED_TABLES: readonly Table[] = TABLES_OF_SERVER.filter(({ name }) => !OWN.has(name)).map((table) =>
  // By which a file finds them in order, too.
  table.name === 'customers' ? { ...table, key: ['organization', 'id'] } : table,
)

/** Those that every mirror has one row in from the start. */
const OF_MIRROR: ReadonlySet<string> = new Set(['fingerprint_key', 'last_update'])

type Value = string | number | null | Uint8Array
type Row = Readonly<Record<string, Value>>

export type Copying = {
  from: Session
  to: SqliteSession | ServerSession
  /** Only these organizations, and only these tables; undefined for all. */
  organizations?: readonly string[] | undefined
  tables?: readonly string[] | undefined
  /** Has every row read again where it was written. The error for one that is not the same, which is described. */
  differing?: (what: string) => Error
  signal?: AbortSignal | undefined
}

export type Copied = Record<string, number>

/**
 * Copies rows from one mirror to another that has none, each in a transaction that the caller holds: one snapshot of the source. A value goes
 * as it is, but for the numbers of rows of customers, which a file counts for all organizations together. Throws Interrupted after an abort.
 */
export async function copyRows(copying: Copying): Promise<Copied> {
  const { from, to, tables } = copying
  const copied: Copied = {}
  const chosen = MOVED_TABLES.filter(({ name }) => tables?.includes(name) ?? true)
  // Or a server would sort what is left of a table for each page.
  for (const session of [from, to])
    if (session.kind === 'postgres')
      await session.run(
        sql`SELECT set_config(name, 'off', true) FROM (VALUES ('enable_sort'), ('enable_incremental_sort')) AS of (name)`,
      )
  const bases = to.kind === 'sqlite' ? await basesIn(from, chosen) : undefined
  for (const table of chosen) {
    const { name } = table
    if (OF_MIRROR.has(name)) await to.run(sql`DELETE FROM ${text(name)}`)
    copied[name] = 0
    let writing: Promise<unknown> = Promise.resolve()
    for await (const read of pagesOf(from, table, copying)) {
      const rows = read.map((row) => renumbered(row, bases?.get(row['organization']) ?? 0))
      copied[name] += rows.length
      // A server writes one page while the next one is read here.
      await writing
      writing = write(copying, table, rows)
      writing.catch(() => {})
    }
    await writing
  }
  if (tables === undefined) await continueNumbers(from, to)
  return copied
}

/** A reject may have a megabyte, and a part of a list 180 KB. The later order of a list takes up to 8 bytes a customer. */
const ROWS_OF_LARGE: Readonly<Record<string, number>> = { rejects: 20, list_columns: 20, lists: 1 }

/** The rows of a table in the order of its key, some at a time. A server finds the next ones meanwhile. */
async function* pagesOf(session: Session, table: Table, { organizations, signal }: Copying): AsyncGenerator<Row[]> {
  const { name } = table
  const chosen = sql`organization IN (${joined(organizations ?? [])})`
  const ofRun = name === 'windows' ? sql`run_id IN (SELECT id FROM runs WHERE ${chosen})` : chosen
  const within = organizations === undefined || OF_MIRROR.has(name) ? sql`true` : ofRun
  const most = ROWS_OF_LARGE[name] ?? 4000
  for (let next = select(session, table, within, most), isLast = false; !isLast;) {
    const rows = await next
    isLast = rows.length < most
    if (!isLast) next = select(session, table, sql`${within} AND ${bound(table, '>', rows.at(-1))}`, most)
    // The error is thrown where it is waited for.
    next.catch(() => {})
    if (signal?.aborted === true) throw new Interrupted('Stopped as asked. Nothing was copied.')
    if (rows.length > 0) yield rows
  }
}

/** Rows in the order of the key, as a file has them, where truth is 0 or 1, and the time at which a customer was created has no fraction. */
async function select(session: Session, { name, key, columns }: Table, where: Sql, most: number): Promise<Row[]> {
  const shown = columns.map((column) => {
    if (column.name === 'created_at_utc') return either(column.name, 'left(created_at_utc::text, 19) AS created_at_utc')
    return column.type === 'boolean' ? either(column.name, `${column.name}::int`) : text(quoted(column.name))
  })
  const ofRun = name === 'windows' ? [text('(SELECT organization FROM runs WHERE id = run_id) AS organization')] : []
  return session.all<Row>(sql`
    SELECT ${joined([...shown, ...ofRun])} FROM ${text(name)} WHERE ${where} ORDER BY ${named(key)} LIMIT ${most}`)
}

function bound({ key }: Table, compared: string, row: Row | undefined): Sql {
  return sql`(${named(key)}) ${text(compared)} (${joined(key.map((column) => row?.[column]))})`
}

function named(columns: readonly string[]): Sql {
  return text(columns.map(quoted).join(', '))
}

/** In SQLite by one prepared statement. */
async function insert(to: Copying['to'], { name, columns }: Table, rows: readonly Row[]): Promise<void> {
  if (to.kind === 'sqlite') {
    const names = columns.map((column) => column.name)
    const put = to.db.prepare(
      `INSERT INTO ${name} (${names.map(quoted).join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
    )
    for (const row of rows) put.run(names.map((column) => row[column]))
    return
  }
  // A server generates it.
  const written = columns.filter((column) => column.name !== 'is_active')
  const names = named(written.map((column) => column.name))
  const types = Object.fromEntries(written.map((column) => [column.name, column.type]))
  await to.run(sql`INSERT INTO ${text(name)} (${names}) SELECT ${names} FROM ${given(rows, types)}`)
}

/** Reads what was written again where it is to be compared, and throws the error for a row that is not the same. */
async function write({ to, differing }: Copying, table: Table, rows: readonly Row[]): Promise<void> {
  if (differing === undefined) return insert(to, table, rows)
  const written = sql`${bound(table, '>=', rows[0])} AND ${bound(table, '<=', rows.at(-1))}`
  const [, found] = await together(insert(to, table, rows), select(to, table, written, rows.length + 1))
  if (found.length !== rows.length) throw differing(`${table.name}: ${found.length} rows in place of ${rows.length}`)
  for (const [at, row] of rows.entries()) {
    const column = table.columns.find(({ name }) => !isSameValue(row[name], found[at]?.[name]))
    if (column === undefined) continue
    throw differing(`${table.name} (${table.key.map((name) => row[name]).join()}), ${column.name}`)
  }
}

/** A server has milliseconds where someone wrote a time without. */
function isSameValue(one: Value | undefined, other: Value | undefined): boolean {
  if (one instanceof Uint8Array) return other instanceof Uint8Array && Buffer.compare(one, other) === 0
  return one === other || `${one}.000` === other
}

/** A row as a mirror has it whose numbers of rows grow by `base`; 0 and below mean no row. */
function renumbered(row: Row, base: number): Row {
  if (base === 0) return row
  const of = (number: number) => (number <= 0 ? number : number + base)
  const changed: Record<string, Value> = { ...row }
  for (const column of ['row_id', row['next_table'] === 'customers' ? 'next_row' : 'row_id']) {
    const number = row[column]
    if (typeof number === 'number') changed[column] = of(number)
  }
  for (const column of ['row_ids', 'later_rows', 'pending_rows']) {
    const bytes = row[column]
    if (bytes instanceof Uint8Array) changed[column] = rowIdsFrom(rowIdsIn(Buffer.from(bytes)).map(of))
  }
  return changed
}

/** What is added to the row numbers of each organization: a file has each number once; a server counts them for each, deleted rows included. */
async function basesIn(from: Session, tables: readonly Table[]): Promise<Map<Value | undefined, number>> {
  const numbered = tables.filter(({ columns }) => columns.some(({ name }) => name === 'row_id'))
  const rows = numbered.map(({ name }) => text(`SELECT organization, row_id FROM ${name}`))
  const bases = await from.all<{ organization: string; base: number }>(sql`
    SELECT organization, sum(last) OVER (ORDER BY organization) - last AS base FROM (
      SELECT organization, max(row_id) AS last FROM (${joined(rows, ' UNION ALL ')}) AS numbered GROUP BY organization) AS highest`)
  return new Map(bases.map(({ organization, base }) => [organization, base]))
}

/** Goes on with the numbers after the highest that was ever given. */
async function continueNumbers(from: Session, to: Copying['to']) {
  for (const [table, column] of NUMBERED) {
    const sequence = `${table}_${column}_seq`
    const number = either(
      sql`seq AS number FROM sqlite_sequence WHERE name = ${table} AND seq > 0`,
      `last_value AS number FROM ${sequence} WHERE is_called`,
    )
    const last = await from.first<{ number: number }>(sql`SELECT ${number}`)
    if (last === undefined) continue
    if (to.kind === 'sqlite') continueAfter(to.db, table, last.number)
    else await to.run(sql`SELECT setval(${sequence}::regclass, ${last.number})`)
  }
}

/**
 * Notes what this user may know of numbers: which was forgotten last in each organization, without any hash, so that objects from before are
 * written anew; and which seq was given last, also to a change that was deleted with its organization, or that is not committed yet. A standby
 * may not have the changes yet that a reader knows from its primary server, although it has their numbers.
 */
export async function noteNumbers(session: Session, db: Connection): Promise<void> {
  const [asked] = await session.all<{ mayRead: boolean | null; seq: number | null }>(sql`
    SELECT has_table_privilege(to_regclass('forgotten'), 'SELECT') AS "mayRead",
      CASE WHEN has_sequence_privilege(name, 'SELECT') AND NOT pg_is_in_recovery()
        THEN pg_sequence_last_value(name::regclass) END AS seq
    FROM pg_get_serial_sequence('changes', 'seq') AS name`)
  if (typeof asked?.seq === 'number') continueAfter(db, 'changes', asked.seq)
  if (asked?.mayRead !== true) return
  const note = db.prepare(`INSERT INTO forgotten (number, organization, hash, forgotten_at) VALUES (?, ?, '', '')`)
  const last = sql`SELECT organization, MAX(number) AS number FROM forgotten GROUP BY organization`
  for (const { number, organization } of await session.all<{ organization: string; number: number }>(last))
    note.run(number, organization)
}
