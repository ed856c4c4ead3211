import { Interrupted, MirrorUnusable } from '../../errors/errors.ts'
import { hasRowNumbers, MOVED_TABLES, type MovedTable, type Kind } from './moved-tables.ts'
import { numberRows, renumbered, type RowNumbers } from './row-numbers.ts'
import { pagesOf, type Row, type Scope, type Side, keyOf, type Value } from './side.ts'
import { parsedJson } from '../../parsed-json.ts'
import { storableJson, storableText } from '../../storable-text.ts'

export type Copying = {
  /** Only these; undefined for all of the mirror. */
  organizations?: readonly string[] | undefined
  /** Only these tables; undefined for all that a mirror needs. */
  tables?: readonly string[] | undefined
  /** Whether the target is PostgreSQL, which cannot hold every value that SQLite holds. */
  forPostgres: boolean
  signal?: AbortSignal | undefined
  /** Called with the number of rows that were carried since the last call. */
  onRows?: ((rows: number) => void) | undefined
}

/** What was copied: the rows of each table, and the values in which a character was replaced. */
export type Copied = { rows: Record<string, number>; replaced: number }

/** Rows as the target has them, with the table they are of and the organizations that were asked for. */
type Portion = { table: MovedTable; scope: Scope; rows: Row[] }

/**
 * Copies rows from one mirror to another that has none, each in a transaction that the caller holds: one snapshot of the source. Throws
 * Interrupted after an abort.
 */
export async function copyMirror(from: Side, to: Side, copying: Copying): Promise<Copied> {
  const rows: Record<string, number> = {}
  const replaced: Replaced = { values: 0 }
  for (const table of tablesOf(copying)) {
    rows[table.name] = 0
    if (table.of === 'mirror') await to.clear(table)
  }
  for await (const { table, rows: some } of portionsOf(from, copying, replaced)) {
    await to.insert(table, some)
    rows[table.name] = (rows[table.name] ?? 0) + some.length
    copying.onRows?.(some.length)
  }
  if (copying.tables === undefined) await to.continueAfter(await from.highestNumbers())
  return { rows, replaced: replaced.values }
}

/** All rows of the source in turn, as the target is to have them. */
export async function* portionsOf(from: Side, copying: Copying, replaced: Replaced): AsyncGenerator<Portion> {
  const tables = tablesOf(copying)
  const { organizations } = copying
  for (const table of tables.filter((one) => !hasRowNumbers(one)))
    for await (const rows of pagesOf(from, table, organizations))
      yield { table, scope: organizations, rows: shaped(rows, { table, from, copying, replaced }) }
  let base = 0
  for (const organization of organizations ?? (await from.organizations())) {
    const numbers = await numberRows(from, tables, { organization, base })
    if (!copying.forPostgres) base += numbers.count
    for (const table of tables.filter(hasRowNumbers))
      for await (const rows of pagesOf(from, table, [organization]))
        yield { table, scope: [organization], rows: shaped(rows, { table, from, copying, replaced, numbers }) }
  }
}

type Shaping = { table: MovedTable; from: Side; copying: Copying; replaced: Replaced; numbers?: RowNumbers }

function shaped(rows: readonly Row[], { table, from, copying, replaced, numbers }: Shaping): Row[] {
  if (copying.signal?.aborted) throw new Interrupted('Stopped as asked. Nothing was copied.')
  const kinds = Object.values(table.columns)
  const ofTable = Object.keys(table.columns).indexOf('next_table')
  return rows.map((row) => {
    const storable = copying.forPostgres ? storableRow(row, table, replaced, from.place) : row
    return renumbered(storable, kinds, numbers, row[ofTable] ?? null)
  })
}

/** The tables that are copied, in order. */
export function tablesOf({ tables }: Pick<Copying, 'tables'>): MovedTable[] {
  return MOVED_TABLES.filter(({ name }) => tables?.includes(name) ?? true)
}

/** How many values were changed, because PostgreSQL cannot hold U+0000 or half a surrogate pair. */
type Replaced = { values: number }

/**
 * A row of SQLite as PostgreSQL can hold it, with U+FFFD for what PostgreSQL cannot hold. SQLite holds any value in any column; throws MirrorUnusable
 * `damaged` for one of another kind than its column, which only a person can have written there.
 */
function storableRow(row: Row, table: MovedTable, replaced: Replaced, place: string): Row {
  const columns = Object.entries(table.columns)
  return row.map((value, at) => {
    const [name, kind] = columns[at] ?? ['', 'text']
    const text = typeof value === 'number' && TEXTS.has(kind) ? String(value) : value
    if (text === null || !isOf(kind, text)) {
      if (text === null) return null
      throw new MirrorUnusable(
        `${place}: the row (${keyOf(table, row).join(', ')}) of ${table.name} has a value in ${name} that is none of that kind. ` +
          'It was changed by hand: correct it there, then try again.',
        { code: 'damaged' },
      )
    }
    return withoutNull(text, kind, replaced)
  })
}

const TEXTS: ReadonlySet<Kind> = new Set(['text', 'json'])

function isOf(kind: Kind, value: Exclude<Value, null>): boolean {
  if (kind === 'bytes' || kind === 'rows') return Buffer.isBuffer(value)
  if (kind === 'moment' || kind === 'second') return typeof value === 'string' && TIME.test(value)
  if (kind === 'text' || kind === 'order') return typeof value === 'string'
  if (kind === 'json') return typeof value === 'string' && parsedJson(value) !== undefined
  return Number.isSafeInteger(value)
}

const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?$/

function withoutNull(value: Exclude<Value, null>, kind: Kind, replaced: Replaced): Value {
  if (typeof value !== 'string') return value
  const stored = kind === 'json' ? storableJson(value) : storableText(value)
  if (stored !== value) replaced.values += 1
  return stored
}
