import { Interrupted, MirrorUnusable } from '../errors/errors.ts'
import { type LaterOrder, readLaterOrder } from '../model/later-order.ts'
import { parsedJson } from '../text/parsed-json.ts'
import { storableJson, storableText } from '../text/storable-text.ts'
import { moment } from './port/fragments.ts'
import { either, joined, type Part, quoted, type Sql, sql, text } from './port/sql.ts'
import { countOf, type Session } from './port/store.ts'
import { rowIdsFrom, rowIdsIn } from './runs/windows.ts'
import { COLUMNS, NUMBERED, TIMES } from './schema/schema.ts'

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
  ['held_removals', 'organization', 'row_id'],
  ['absences', 'organization', 'row_id'],
  ['windows', 'run_id', 'start', 'size'],
  ['lists', 'organization'],
  ['list_chunks', 'organization', 'chunk'],
  ['list_windows', 'organization', 'number'],
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

/** Columns with numbers of rows of customers: one, many in bytes, those of an order, or how far a table was worked through. */
const ROW_NUMBERS: Readonly<Record<string, 'row' | 'rows' | 'order' | 'place'>> = {
  'customers.row_id': 'row',
  'held_removals.row_id': 'row',
  'absences.row_id': 'row',
  'edited_customers.row_id': 'row',
  'windows.row_ids': 'rows',
  'list_chunks.row_ids': 'rows',
  'lists.later_order': 'order',
  'privacy_policies.next_row': 'place',
}

const JSON_COLUMNS: ReadonlySet<string> = new Set(['reasons', 'warnings', 'certificate', 'extra', 'fields'])

type Row = Readonly<Record<string, Part>>

export type Copying = {
  from: Session
  to: Session
  /** Only these organizations, and only these tables; undefined for all. */
  organizations?: readonly string[] | undefined
  tables?: readonly string[] | undefined
  signal?: AbortSignal | undefined
  /** Called with the number of rows that were carried since the last call. */
  onRows?: ((rows: number) => void) | undefined
}

/** What was copied: the rows of each table, and the values in which a character was replaced. */
export type Copied = { rows: Record<string, number>; replaced: number }

/**
 * Copies rows from one mirror to another that has none, each in a transaction that the caller holds: one snapshot of the source. PostgreSQL
 * cannot hold U+0000 or half a surrogate pair: U+FFFD takes their place. Throws Interrupted after an abort.
 */
export async function copyRows(copying: Copying): Promise<Copied> {
  const { from, to, onRows } = copying
  const copied: Copied = { rows: {}, replaced: 0 }
  const baseOf = await basesIn(copying)
  for (const table of tablesOf(copying)) {
    if (OF_MIRROR.has(table.name)) await to.run(sql`DELETE FROM ${text(table.name)}`)
    copied.rows[table.name] = 0
    for await (const rows of pagesOf(from, table, copying)) {
      const carried = rows.map((row) => carriedRow(row, { table, baseOf, to, copied }))
      await insert(to, table, carried)
      copied.rows[table.name] = (copied.rows[table.name] ?? 0) + rows.length
      onRows?.(rows.length)
    }
  }
  if (copying.tables === undefined) await continueNumbers(from, to)
  return copied
}

export type Difference = { table: string; key: string; column: string }

/** Reads both mirrors, and compares every value. Undefined where none differs. */
export async function findDifference(copying: Copying): Promise<Difference | undefined> {
  const { from, to, onRows } = copying
  const baseOf = await basesIn(copying)
  for (const table of tablesOf(copying)) {
    const there = pagesOf(to, table, copying)
    for await (const rows of pagesOf(from, table, copying)) {
      const found: readonly Row[] = (await there.next()).value ?? []
      for (const [at, row] of rows.entries()) {
        const wanted = carriedRow(row, { table, baseOf, to, copied: { rows: {}, replaced: 0 } })
        const column = table.columns.find((name) => !isSame(wanted[name], found[at]?.[name]))
        if (column !== undefined) return { table: table.name, key: keyOf(table, row), column }
      }
      onRows?.(rows.length)
    }
    if ((await there.next()).value !== undefined) return { table: table.name, key: '', column: 'more rows than before' }
  }
  return undefined
}

export async function countRows(session: Session): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const name of MOVED_TABLES) counts[name] = await countOf(session, sql`SELECT count(*) FROM ${text(name)}`)
  return counts
}

/** How many organizations there are of which the mirror holds anything. */
export async function countOrganizations(session: Session): Promise<number> {
  const tables = ['runs', 'customers', 'forgotten_keys', 'unfinished_forgets']
  const names = tables.map((table) => text(`SELECT organization FROM ${table}`))
  return countOf(session, sql`SELECT count(*) FROM (${joined(names, ' UNION ')}) AS named`)
}

/** Whether the tables hold what a mirror without runs does not. */
export function heldTable(counts: Readonly<Record<string, number>>): string | undefined {
  return MOVED_TABLES.find((name) => !OF_MIRROR.has(name) && (counts[name] ?? 0) > 0)
}

type Table = { name: string; key: readonly string[]; columns: readonly string[] }

function tablesOf({ tables }: Copying): Table[] {
  return TABLES.filter(([name]) => tables?.includes(name) ?? true).map(([name, ...key]) => {
    return { name, key, columns: COLUMNS[name] ?? [] }
  })
}

/** A statement has 32,766 parameters at most, a reject may have a megabyte, and a chunk of a list takes 73 KB. */
function atOnce({ name, columns }: Table): number {
  return name === 'rejects' || name === 'list_chunks' ? 20 : Math.floor(16_000 / columns.length)
}

/** The rows of a table in the order of its key, some at a time: each of them is read once. */
async function* pagesOf(session: Session, table: Table, { organizations, signal }: Copying): AsyncGenerator<Row[]> {
  // Or the server would sort what is left of the table for each page.
  if (session.kind === 'postgres') await session.run(BY_INDEX)
  for (const organization of OF_MIRROR.has(table.name) ? [undefined] : (organizations ?? [undefined]))
    for await (const rows of pagesWithin(session, table, organization)) {
      if (signal?.aborted === true) throw new Interrupted('Stopped as asked. Nothing was copied.')
      yield rows
    }
}

async function* pagesWithin(session: Session, table: Table, organization: string | undefined): AsyncGenerator<Row[]> {
  const { name, key, columns } = table
  const most = atOnce(table)
  // Rows of one organization are found by the rest of their key: an index then begins at the next of them.
  const rest = key.filter((column) => column !== 'organization' || organization === undefined || key.length === 1)
  for (let last: Row | undefined; ;) {
    const after = last === undefined ? sql`true` : sql`(${named(rest)}) > (${joined(valuesOf(last, rest))})`
    const rows = await session.all<Row>(sql`
      SELECT ${named(columns)} FROM ${text(name)} WHERE ${within(name, organization)} AND ${after}
      ORDER BY ${named(key)} LIMIT ${most}`)
    if (rows.length > 0) yield rows
    if (rows.length < most) return
    last = rows.at(-1)
  }
}

const BY_INDEX = sql`SET LOCAL enable_sort = off`

function within(table: string, organization: string | undefined): Part {
  if (organization === undefined) return sql`true`
  if (table !== 'windows') return sql`organization = ${organization}`
  return sql`run_id IN (SELECT id FROM runs WHERE organization = ${organization})`
}

function named(columns: readonly string[]): Sql {
  return text(columns.map((column) => quoted(column)).join(', '))
}

function valuesOf(row: Row, columns: readonly string[]): Part[] {
  return columns.map((column) => row[column])
}

function keyOf({ key }: Table, row: Row): string {
  return valuesOf(row, key).map(shown).join(', ')
}

function shown(value: Part): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

async function insert(to: Session, { name, columns }: Table, rows: readonly Row[]) {
  const written = to.kind === 'sqlite' ? columns : columns.filter((column) => column !== GENERATED)
  const values = rows.map((row) => sql`(${joined(valuesOf(row, written).map(asStored))})`)
  await to.run(sql`INSERT INTO ${text(name)} (${named(written)}) VALUES ${joined(values)}`)
}

const GENERATED = 'is_active'

/** PostgreSQL has no year 0. */
function asStored(value: Part): Part {
  return typeof value === 'string' && /^0000-\d\d-\d\d \d\d:\d\d:\d\d$/.test(value) ? moment(value) : value
}

type Carrying = { table: Table; baseOf: (row: Row) => number; to: Session; copied: Copied }

function carriedRow(row: Row, { table, baseOf, to, copied }: Carrying): Row {
  const base = baseOf(row)
  // 0 and below mean no row.
  const of = (number: number) => (number <= 0 ? number : number + base)
  const carried = (column: string): Part => {
    const value = row[column]
    const kind = ROW_NUMBERS[`${table.name}.${column}`]
    if (kind === 'order' && typeof value === 'string') return renumberedOrder(value, of)
    if (kind === 'rows' && value instanceof Uint8Array) return rowIdsFrom(rowIdsIn(Buffer.from(value)).map(of))
    if (kind === 'place' && row['next_table'] !== 'customers') return value
    if (kind !== undefined && typeof value === 'number') return of(value)
    if (typeof value !== 'string') return value
    if (to.kind === 'sqlite') return column === 'created_at_utc' ? value.slice(0, SECOND) : value
    const isTime = TIMES.has(`${table.name}.${column}`)
    if (isTime ? !TIME.test(value) : JSON_COLUMNS.has(column) && parsedJson(value) === undefined)
      throw ofAnotherKind(table, row, column)
    const stored = JSON_COLUMNS.has(column) ? storableJson(value) : storableText(value)
    copied.replaced += Number(stored !== value)
    return stored
  }
  return Object.fromEntries(table.columns.map((column) => [column, carried(column)]))
}

const SECOND = 'YYYY-MM-DD HH:MM:SS'.length

const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?$/

/** A file holds any value in any column. */
function ofAnotherKind(table: Table, row: Row, column: string): MirrorUnusable {
  return new MirrorUnusable(
    `the row (${keyOf(table, row)}) of ${table.name} has a value in ${column} that is none of that kind. It was changed by hand: correct it ` +
      'there, then try again.',
    { code: 'damaged' },
  )
}

/** One that this program cannot read is left out: the next quick run then reads more. */
function renumberedOrder(words: string, of: (row: number) => number): string | null {
  const order = readLaterOrder(words)
  if (order === undefined) return null
  const parts = order.parts.map((part) => (typeof part === 'number' ? of(part) : part))
  return JSON.stringify({ ...order, parts, pending: order.pending.map(of) })
}

function rowsIn({ parts, pending }: LaterOrder = { parts: [], pending: [] }): number[] {
  return [...parts.filter((part) => typeof part === 'number'), ...pending]
}

/** What is added to the row numbers of each organization: in a file no two share one, and on a server each begins at 1. Lost rows count too. */
async function basesIn(copying: Copying): Promise<(row: Row) => number> {
  const { from, to } = copying
  const numbers = new Map<string, { least: number; most: number }>()
  const note = (organization: string, number: number) => {
    if (number <= 0) return
    const { least = number, most = number } = numbers.get(organization) ?? {}
    numbers.set(organization, { least: Math.min(least, number), most: Math.max(most, number) })
  }
  const runs = new Map<number, string>()
  const tables = tablesOf(copying).filter(({ columns, name }) =>
    columns.some((column) => `${name}.${column}` in ROW_NUMBERS),
  )
  if (tables.some(({ name }) => name === 'windows'))
    for (const { id, organization } of await from.all<{ id: number; organization: string }>(sql`
      SELECT id, organization FROM runs WHERE EXISTS (SELECT 1 FROM windows WHERE run_id = runs.id)`))
      runs.set(id, organization)
  const nameOf = ({ organization, run_id }: Row) => shown(organization) || (runs.get(Number(run_id)) ?? '')
  for (const { name, columns } of tables)
    if (columns.includes('row_id')) {
      const spans = await from.all<{ organization: string; least: number; most: number }>(sql`
        SELECT organization, min(row_id) AS least, max(row_id) AS most FROM ${text(name)} GROUP BY organization`)
      for (const { organization, least, most } of spans) for (const number of [least, most]) note(organization, number)
    } else if (name !== 'privacy_policies') {
      const [column = ''] = columns.filter((one) => `${name}.${one}` in ROW_NUMBERS)
      const table = { name, key: KEYS.get(name) ?? [], columns: [...new Set([...(KEYS.get(name) ?? []), column])] }
      for await (const rows of pagesOf(from, table, copying))
        for (const row of rows) for (const number of numbersIn(row[column])) note(nameOf(row), number)
    }
  const bases = new Map<string, number>()
  let last = 0
  for (const organization of [...numbers.keys()].toSorted((one, other) => (one < other ? -1 : 1))) {
    const { least, most } = numbers.get(organization) ?? { least: 1, most: 0 }
    bases.set(organization, (to.kind === 'sqlite' ? last : 0) + 1 - least)
    last += most - least + 1
  }
  return (row) => bases.get(nameOf(row)) ?? 0
}

const KEYS: ReadonlyMap<string, readonly string[]> = new Map(TABLES.map(([name, ...key]) => [name, key]))

function numbersIn(value: Part): number[] {
  if (value instanceof Uint8Array) return rowIdsIn(Buffer.from(value))
  return typeof value === 'string' ? rowsIn(readLaterOrder(value)) : []
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
    const given = either(
      sql`(SELECT seq FROM sqlite_sequence WHERE name = ${table})`,
      sql`(SELECT CASE WHEN is_called THEN last_value END FROM ${text(`${table}_${column}_seq`)})`,
    )
    const highest = sql`SELECT coalesce(${given}, 0) AS given, coalesce(max(${text(column)}), 0) AS held FROM ${text(table)}`
    const found = await from.first<{ given: number; held: number }>(highest)
    const number = Math.max(found?.given ?? 0, found?.held ?? 0)
    if (number === 0) continue
    if (to.kind === 'sqlite') await to.run(sql`DELETE FROM sqlite_sequence WHERE name = ${table}`)
    await to.run(
      sql`${either(
        sql`INSERT INTO sqlite_sequence (name, seq) VALUES (${table}, CAST(${number} AS INTEGER))`,
        sql`SELECT setval(${`${table}_${column}_seq`}::regclass, ${number})`,
      )}`,
    )
  }
}
