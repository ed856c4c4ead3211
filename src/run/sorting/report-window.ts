import type { RowOrNumber } from '../../scan/window/window.ts'
import type { SavedPage } from '../../sorted-page.ts'
import type { ReadPage } from './read-page.ts'

/**
 * The rows of a saved page, for the scan: a known record is often only its row number, except for the first and the last of a page,
 * which have all fields.
 */
export function rowsForScan(
  { sorted, outline }: Pick<ReadPage, 'sorted' | 'outline'>,
  saved: SavedPage,
): RowOrNumber[] {
  const { rowIds, unchanged } = saved
  const [first, last] = outline.ends ?? []
  const reported: RowOrNumber[] = []
  for (let place = 0; place < rowIds.length; place += 1) {
    const rowId = rowIds[place] ?? 0
    const row = sorted.rows[place] ?? (place === 0 ? first : place === rowIds.length - 1 ? last : undefined)
    if (row === undefined) {
      reported.push(rowId)
      continue
    }
    // The creation time of a forgotten customer cannot be compared with that of an interrupted run, which keeps none.
    const isKept = sorted.rowIds[place] !== 0 || unchanged.has(place) || rowId < 0
    reported.push({ id: row.id, createdAt: row.createdAt, rowId: rowId === 0 ? undefined : rowId, isKept })
  }
  return reported
}
