import type { Row, Warnings } from '../customer.ts'
import type { KnownPage, RememberedRow } from '../remembered-page.ts'
import { rowIdsFrom, rowIdsIn } from './row-ids.ts'

/** A remembered page as it is stored. */
export type PageColumns = {
  start: number
  size: number
  digest: string
  row_ids: Buffer
  fingerprints: Buffer
  outline: string
}

/** What is told of a page beside its rows' numbers. Who stands at its ends tells how it joins its neighbours. */
type Outline = {
  ends: [Row, Row]
  neighbours: KnownPage['neighbours']
  warnings: Partial<Record<number, Warnings>>
}

/** A page's rows, of which there is one at least, and how they compare, as they are stored. */
export function columnsFrom(
  rows: readonly (Row & RememberedRow)[],
  neighbours: KnownPage['neighbours'],
): Pick<PageColumns, 'row_ids' | 'fingerprints' | 'outline'> {
  const odd = rows.flatMap((row, place) => (row.warnings === undefined ? [] : [[place, row.warnings] as const]))
  const ends: Outline['ends'] = [endOf(rows.at(0)), endOf(rows.at(-1))]
  const outline: Outline = { ends, neighbours, warnings: Object.fromEntries(odd) }
  return {
    row_ids: rowIdsFrom(rows.map(({ rowId }) => rowId)),
    fingerprints: Buffer.from(Float64Array.from(rows, ({ fingerprint }) => fingerprint).buffer),
    outline: JSON.stringify(outline),
  }
}

function endOf(row: Row | undefined): Row {
  return { id: row?.id, createdAt: row?.createdAt }
}

/** The page as a whole, from what is stored. */
export function knownFrom({ digest, row_ids, outline }: PageColumns): KnownPage {
  const { ends, neighbours, warnings }: Outline = JSON.parse(outline)
  const odd = Object.values(warnings).flatMap((some) => some ?? [])
  return { digest, rowIds: rowIdsIn(row_ids), ends, neighbours, warnings: odd }
}

/** A page's rows, from what is stored. */
export function rowsFrom(columns: PageColumns): RememberedRow[] {
  const fingerprints = new Float64Array(new Uint8Array(columns.fingerprints).buffer)
  const { warnings }: Outline = JSON.parse(columns.outline)
  return rowIdsIn(columns.row_ids).map((rowId, place) => ({
    rowId,
    fingerprint: fingerprints[place] ?? NaN,
    warnings: warnings[place],
  }))
}
