import { firstIndex } from '../../first-index.ts'
import { readLaterOrder, type LaterOrder } from '../../list/later-order.ts'
import { rowIdsFrom, rowIdsIn } from '../sql/row-ids.ts'
import { hasRowNumbers, type Kind, type MovedTable } from './moved-tables.ts'
import { pagesOf, type Row, type Side, type Value } from './side.ts'

/**
 * New numbers for the rows of one organization, which keep their order and follow each other: a file numbers the rows of all
 * organizations together, and a database those of each one from 1.
 */
export type RowNumbers = {
  /** How many there are. */
  readonly count: number
  of(row: number): number
  /** The new number of the last row up to that one; 0 if there is none. */
  lastUpTo(row: number): number
  in(blob: Buffer): Buffer
}

/**
 * Numbers the rows of an organization anew, after `base`. A row that one of the tables refers to and that is no longer there gets a
 * number too.
 */
export async function numberRows(
  side: Side,
  tables: readonly MovedTable[],
  { organization, base }: { organization: string; base: number },
): Promise<RowNumbers> {
  const known = await side.rowNumbers(organization)
  const gone = new Set<number>()
  for (const table of tables) {
    if (!hasRowNumbers(table) || table.name === 'customers') continue
    const kinds = Object.values(table.columns)
    for await (const rows of pagesOf(side, table, [organization]))
      for (const row of rows)
        for (const number of numbersIn(row, kinds)) if (indexOf(known, number) < 0) gone.add(number)
  }
  return renumbering(gone.size === 0 ? known : Uint32Array.from([...known, ...gone]).toSorted(), base)
}

function numbersIn(row: Row, kinds: readonly Kind[]): number[] {
  return kinds.flatMap((kind, at) => {
    const value = row[at]
    if (kind === 'row' && typeof value === 'number') return [value]
    if (kind === 'order' && typeof value === 'string') return rowsIn(readLaterOrder(value))
    return kind === 'rows' && Buffer.isBuffer(value) ? rowIdsIn(value).filter((number) => number > 0) : []
  })
}

function rowsIn({ parts, pending }: LaterOrder = NO_ORDER): number[] {
  return [...parts.filter((part) => typeof part === 'number'), ...pending].filter((number) => number > 0)
}

const NO_ORDER: LaterOrder = { parts: [], pending: [] }

/** One that this program cannot read is left out: the next quick run then reads more. */
function renumberedOrder(text: string, { of }: Pick<RowNumbers, 'of'>): string | null {
  const order = readLaterOrder(text)
  if (order === undefined) return null
  const parts = order.parts.map((part) => (typeof part === 'number' ? of(part) : part))
  return JSON.stringify({ ...order, parts, pending: order.pending.map(of) })
}

function renumbering(sorted: Uint32Array, base: number): RowNumbers {
  // 0 and below mean no row.
  const of = (row: number) => (row <= 0 ? row : base + indexOf(sorted, row) + 1)
  return {
    count: sorted.length,
    of,
    lastUpTo(row) {
      const place = placeOf(sorted, row + 1)
      return place === 0 ? 0 : base + place
    },
    in: (blob) => rowIdsFrom(rowIdsIn(blob).map(of)),
  }
}

/** Its index; below 0 if it is not there. */
function indexOf(sorted: Uint32Array, row: number): number {
  const at = placeOf(sorted, row)
  return sorted[at] === row ? at : -1
}

/** The index of the first number that is not below `row`. */
function placeOf(sorted: Uint32Array, row: number): number {
  return firstIndex(sorted.length, (index) => (sorted[index] ?? 0) >= row)
}

/** The row with its numbers as the other mirror has them. */
export function renumbered(row: Row, kinds: readonly Kind[], numbers: RowNumbers | undefined, table: Value): Row {
  if (numbers === undefined) return row
  return row.map((value, at) => {
    const kind = kinds[at]
    if (kind === 'row' && typeof value === 'number') return numbers.of(value)
    if (kind === 'rows' && Buffer.isBuffer(value)) return numbers.in(value)
    if (kind === 'order' && typeof value === 'string') return renumberedOrder(value, numbers)
    return kind === 'place' && typeof value === 'number' && table === 'customers' ? numbers.lastUpTo(value) : value
  })
}
