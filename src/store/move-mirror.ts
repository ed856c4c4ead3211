import { Interrupted } from '../errors/errors.ts'
import { either, greatest, joined, type Part, quoted, secondOf, sql, type Sql, text } from './port/sql.ts'
import type { Session } from './port/store.ts'
import { rowIdsFrom, rowIdsIn } from './runs/list-memory.ts'
import { COLUMNS, NUMBERED } from './schema/schema.ts'

/*
 * Copies the rows of a mirror to another one, of the other kind or of the same, and compares them. Columns are the same in both databases. A
 * value goes as it is, but for the numbers of rows of customers, which a file counts for all organizations together.
 */

/** Every table that a mirror needs to go on as if nothing had happened, with its key. Rows come after those that they refer to. */
const TABLES: readonly (readonly [name: string, ...key: string[]])[] = [
  ['fingerprint_key', 'id'],
  ['last_update', 'id'],
  ['runs', 'id'],
  ['customers', 'organization', 'id'],
  ['changes', 'seq'],
  ['rejects', 'reject_id'],
  ['held_rows', 'organization', 'row_id'],
  ['absences', 'organization', 'row_id'],
  ['windows', 'run_id', 'start', 'size'],
  ['lists', 'organization'],
  ['edited_customers', 'edit'],
  ['privacy_policies', 'organization'],
  ['retired_organizations', 'organization'],
  ['unfinished_forgets', 'organization'],
  ['forgotten_keys', 'organization'],
  ['forgotten', 'number'],
  ['horizons', 'organization'],
]

export const MOVED_TABLES: readonly string[] = TABLES.map(([name]) => name)

/** Those that every mirror has one row in from the start. */
const OF_MIRROR: ReadonlySet<string> = new Set(['fingerprint_key', 'last_update'])

/** Columns with numbers of rows of customers: one, many in bytes, or how far a table was worked through. */
const ROW_NUMBERS: Readonly<Record<string, 'row' | 'rows' | 'place'>> = {
  row_id: 'row',
  row_ids: 'rows',
  later_rows: 'rows',
  pending_rows: 'rows',
  next_row: 'place',
}

type Row = Readonly<Record<string, Part>>

export type Copying = {
  from: Session
  to: Session
  /** Only these organizations, and only these tables; undefined for all. */
  organizations?: readonly string[] | undefined
  tables?: readonly string[] | undefined
  signal?: AbortSignal | undefined
}

export type Copied = Record<string, number>

/**
 * Copies rows from one mirror to another that has none, each in a transaction that the caller holds: one snapshot of the source. Throws
 * Interrupted after an abort.
 */
export async function copyRows(copying: Copying): Promise<Copied> {
  const { from, to } = copying
  const copied: Copied = {}
  const baseOf = await basesIn(copying)
  for (const table of tablesOf(copying)) {
    const { name } = table
    if (OF_MIRROR.has(name)) await to.run(sql`DELETE FROM ${text(name)}`)
    copied[name] = 0
    for await (const rows of pagesOf(from, table, copying)) {
      const carried = rows.map((row) => carriedRow(row, table, baseOf(row)))
      await insert(to, table, carried)
      copied[name] += rows.length
    }
  }
  if (copying.tables === undefined) await continueNumbers(from, to)
  return copied
}

export type Difference = { table: string; key: string; column: string }

export async function findDifference(copying: Copying): Promise<Difference | undefined> {
  const { from, to } = copying
  const baseOf = await basesIn(copying)
  for (const table of tablesOf(copying)) {
    const there = pagesOf(to, table, copying)
    for await (const rows of pagesOf(from, table, copying)) {
      const found: readonly Row[] = (await there.next()).value ?? []
      for (const [at, row] of rows.entries()) {
        const wanted = carriedRow(row, table, baseOf(row))
        const column = table.columns.find((name) => !isSame(wanted[name], found[at]?.[name]))
        if (column !== undefined)
          return { table: table.name, key: table.key.map((name) => shown(row[name])).join(), column }
      }
    }
    if ((await there.next()).value !== undefined) return { table: table.name, key: '', column: 'more rows than before' }
  }
  return undefined
}

/** A table that holds what a mirror without runs does not; undefined where there is none. */
export async function heldTable(session: Session): Promise<string | undefined> {
  for (const name of MOVED_TABLES.filter((each) => !OF_MIRROR.has(each)))
    if ((await session.all(sql`SELECT 1 FROM ${text(name)} LIMIT 1`)).length > 0) return name
  return undefined
}

type Table = { name: string; key: readonly string[]; columns: readonly string[] }

function tablesOf({ tables }: Copying): Table[] {
  return TABLES.filter(([name]) => tables?.includes(name) ?? true).map(([name, ...key]) => {
    return { name, key, columns: COLUMNS[name] ?? [] }
  })
}

/** A statement has 32,766 parameters at most, a reject may have a megabyte, and a list takes 18 bytes a customer. */
function atOnce({ name, columns }: Table): number {
  return name === 'rejects' ? 20 : name === 'lists' ? 1 : Math.floor(16_000 / columns.length)
}

/** The rows of a table in the order of its key, some at a time: each of them is read once. Throws Interrupted after an abort. */
async function* pagesOf(session: Session, table: Table, { organizations, signal }: Copying): AsyncGenerator<Row[]> {
  const { name, key, columns } = table
  // Or the server would sort what is left of the table for each page.
  if (session.kind === 'postgres') await session.run(sql`SET LOCAL enable_sort = off`)
  const chosen = sql`organization IN (${joined(organizations ?? [])})`
  const ofRun = name === 'windows' ? sql`run_id IN (SELECT id FROM runs WHERE ${chosen})` : chosen
  const within = organizations === undefined || OF_MIRROR.has(name) ? sql`true` : ofRun
  const most = atOnce(table)
  for (let last: Row | undefined; ;) {
    const after = last === undefined ? sql`true` : sql`(${named(key)}) > (${joined(valuesOf(last, key))})`
    const rows = await session.all<Row>(sql`
      SELECT ${named(columns)} FROM ${text(name)} WHERE ${within} AND ${after} ORDER BY ${named(key)} LIMIT ${most}`)
    if (signal?.aborted === true) throw new Interrupted('Stopped as asked. Nothing was copied.')
    if (rows.length > 0) yield rows
    if (rows.length < most) return
    last = rows.at(-1)
  }
}

function named(columns: readonly string[]): Sql {
  return text(columns.map((column) => quoted(column)).join(', '))
}

function valuesOf(row: Row, columns: readonly string[]): Part[] {
  return columns.map((column) => row[column])
}

function shown(value: Part): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

async function insert(to: Session, { name, columns }: Table, rows: readonly Row[]) {
  const written = to.kind === 'sqlite' ? columns : columns.filter((column) => column !== GENERATED)
  const values = rows.map((row) => sql`(${joined(valuesOf(row, written))})`)
  await to.run(sql`INSERT INTO ${text(name)} (${named(written)}) VALUES ${joined(values)}`)
}

const GENERATED = 'is_active'

/** A row as the other mirror has it. Numbers of rows grow by `base`; 0 and below mean no row. */
function carriedRow(row: Row, { columns }: Table, base: number): Row {
  const of = (number: number) => (number <= 0 ? number : number + base)
  const carried = (column: string): Part => {
    const value = row[column]
    // A server has a fraction of a second there.
    if (column === 'created_at_utc' && typeof value === 'string') return secondOf(value)
    const kind = base === 0 ? undefined : ROW_NUMBERS[column]
    if (kind === 'place' && row['next_table'] !== 'customers') return value
    if (kind === 'rows' && value instanceof Uint8Array) return rowIdsFrom(rowIdsIn(Buffer.from(value)).map(of))
    return kind !== undefined && typeof value === 'number' ? of(value) : value
  }
  return Object.fromEntries(columns.map((column) => [column, carried(column)]))
}

/**
 * What is added to the row numbers of each organization: in a file no two organizations share one, and a server counts them for each, from
 * the highest of its customers and of those edited or deleted since its list was stored.
 */
async function basesIn(copying: Copying): Promise<(row: Row) => number> {
  const { from, to } = copying
  if (to.kind === 'postgres') return () => 0
  const numbered = tablesOf(copying).filter(({ columns }) => columns.includes('row_id'))
  const highest = numbered.map(({ name }) =>
    text(`SELECT organization, max(row_id) AS row_id FROM ${name} GROUP BY organization`),
  )
  const found = await from.all<{ organization: string; last: number }>(sql`
    SELECT organization, max(row_id) AS last FROM (${joined(highest, ' UNION ALL ')}) AS highest GROUP BY organization ORDER BY organization`)
  const bases = new Map<Part, number>()
  let base = 0
  for (const { organization, last } of found) {
    bases.set(organization, base)
    base += last
  }
  const runs = await from.all<{ id: number; organization: string }>(sql`SELECT id, organization FROM runs`)
  const organizations = new Map<Part, string>(runs.map(({ id, organization }) => [id, organization]))
  return ({ organization, run_id }) => bases.get(organization ?? organizations.get(run_id)) ?? 0
}

function isSame(one: Part, other: Part): boolean {
  if (one instanceof Uint8Array) return other instanceof Uint8Array && Buffer.compare(one, other) === 0
  return plain(one) === plain(other)
}

/** A time with milliseconds of 0 is the same as one without, and a truth value is 0 or 1 in a file. */
function plain(value: Part): Part {
  if (typeof value === 'boolean') return Number(value)
  return typeof value === 'string' ? value.replace(/(:\d\d)\.000$/, '$1') : (value ?? null)
}

/** Goes on with the numbers after the highest that was ever given. */
async function continueNumbers(from: Session, to: Session) {
  for (const [table, column] of NUMBERED) {
    const sequence = `${table}_${column}_seq`
    const given = either(
      sql`(SELECT seq FROM sqlite_sequence WHERE name = ${table})`,
      sql`(SELECT CASE WHEN is_called THEN last_value END FROM ${text(sequence)})`,
    )
    const highest = greatest(sql`coalesce(${given}, 0)`, sql`coalesce(max(${text(column)}), 0)`)
    const number =
      (await from.first<{ number: number }>(sql`SELECT ${highest} AS number FROM ${text(table)}`))?.number ?? 0
    if (number === 0) continue
    if (to.kind === 'sqlite') await to.run(sql`DELETE FROM sqlite_sequence WHERE name = ${table}`)
    const goOn = either(
      sql`INSERT INTO sqlite_sequence (name, seq) VALUES (${table}, CAST(${number} AS INTEGER))`,
      sql`SELECT setval(${sequence}::regclass, ${number})`,
    )
    await to.run(sql`${goOn}`)
  }
}
