import type { Row } from '../customer.ts'
import type { RowOrNumber } from '../scan/window.ts'
import type { SavedPage } from '../sorted-page.ts'
import type { ReadPage } from './read-page.ts'

/** The rows of a saved page as the scan takes them. A known page gives row numbers only, but for its first and last row. */
export function rowsForScan({ sorted: { rows }, known, outline }: ReadPage, saved: SavedPage): RowOrNumber[] {
  const { rowIds, unchanged } = saved
  if (known === undefined) {
    return rows.map(({ id, createdAt, rowId }, place) => ({
      id,
      createdAt,
      rowId: rowIds[place] === 0 ? undefined : rowIds[place],
      isKept: rowId !== undefined || unchanged.has(place),
    }))
  }
  const reported: RowOrNumber[] = Array.from(rowIds)
  const last = rowIds.length - 1
  for (const [place, end] of [
    [0, outline.ends?.[0]],
    [last, outline.ends?.[1]],
  ] as const) {
    if (end !== undefined) reported[place] = keptRow(end, rowIds[place])
  }
  return reported
}

function keptRow({ id, createdAt }: Row, rowId: number | undefined): RowOrNumber {
  return { id, createdAt, rowId, isKept: true }
}
