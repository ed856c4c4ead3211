import type { Row, Warnings } from '../customer.ts'
import type { RememberedPage, RememberedRow } from '../remembered-page.ts'
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
  ends: Row[]
  neighbours: RememberedPage['neighbours']
  warnings: Partial<Record<number, Warnings>>
}

/** A page's rows, and how they compare, as they are stored. */
export function columnsFrom(
  rows: readonly RememberedRow[],
  neighbours: RememberedPage['neighbours'],
): Pick<PageColumns, 'row_ids' | 'fingerprints' | 'outline'> {
  const odd = rows.flatMap((row, place) => (row.warnings === undefined ? [] : [[place, row.warnings] as const]))
  const ends = [rows.at(0), rows.at(-1)].flatMap((row) => row ?? []).map(({ id, createdAt }) => ({ id, createdAt }))
  const outline: Outline = { ends, neighbours, warnings: Object.fromEntries(odd) }
  return {
    row_ids: rowIdsFrom(rows.map(({ rowId }) => rowId)),
    fingerprints: Buffer.from(Float64Array.from(rows, ({ fingerprint }) => fingerprint).buffer),
    outline: JSON.stringify(outline),
  }
}

/** A page's rows, and how they compare, from what is stored. */
export function rowsFrom(columns: PageColumns): { rows: RememberedRow[]; neighbours: RememberedPage['neighbours'] } {
  const rowIds = rowIdsIn(columns.row_ids)
  const fingerprints = new Float64Array(new Uint8Array(columns.fingerprints).buffer)
  const { ends, neighbours, warnings }: Outline = JSON.parse(columns.outline)
  const rows: RememberedRow[] = []
  for (let place = 0; place < rowIds.length; place += 1) {
    const end = place === 0 ? ends[0] : place === rowIds.length - 1 ? ends[1] : undefined
    rows.push({
      id: end?.id,
      createdAt: end?.createdAt,
      rowId: rowIds[place] ?? 0,
      fingerprint: fingerprints[place] ?? NaN,
      warnings: warnings[place],
    })
  }
  return { rows, neighbours }
}
