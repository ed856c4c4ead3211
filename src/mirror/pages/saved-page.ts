import type { SavedPage, SortedPage } from '../../sorted-page.ts'

/** By index among the customers of a page: the row of each, and those that were stored unchanged before the run. */
export type CustomersSaved = { rowIds: readonly (number | undefined)[]; unchanged: ReadonlySet<number> }

/** The row of each record in order, also of a reject whose customer is on the same page. */
export function savedPage(
  { rows, rowIds: known, customers, places, rejects, suppressed }: SortedPage,
  saved: CustomersSaved,
): SavedPage {
  if (customers.length + rejects.length + suppressed.length === 0) return { rowIds: known, unchanged: NO_PLACES }
  const rowIds = Array.from(known)
  const unchanged = new Set<number>()
  // Without entries(): it makes two objects for each customer.
  places.forEach((place, index) => {
    rowIds[place] = saved.rowIds[index] ?? 0
    if (saved.unchanged.has(index)) unchanged.add(place)
  })
  for (const { position, number } of suppressed) rowIds[position] = -number
  if (rejects.length > 0) numberById(rows, rowIds)
  return { rowIds, unchanged }
}

const NO_PLACES: ReadonlySet<number> = new Set()

function numberById(rows: SortedPage['rows'], rowIds: number[]): void {
  const byId = new Map<string | undefined, number>()
  for (const [place, row] of rows.entries()) if (rowIds[place] !== 0) byId.set(row?.id, rowIds[place] ?? 0)
  for (const [place, row] of rows.entries()) rowIds[place] ||= (row?.id === undefined ? 0 : byId.get(row.id)) ?? 0
}

/**
 * The row number of each record, 0 for a reject and below 0 for a forgotten customer, and the ids of the rejects in order, null if
 * unreadable. For a known window, its place in the list as last read.
 */
export type WindowRows =
  | { rowIds: ArrayLike<number>; rejected: readonly (string | null)[] }
  | { place: number; count: number }

/** The row numbers of a page, or its place in the list as last read. */
export function windowRows({ rows, rejects, known, listedAt }: SortedPage, { rowIds }: SavedPage): WindowRows {
  if (listedAt !== undefined) return { place: listedAt, count: known.length }
  if (rejects.length === 0) return { rowIds, rejected: [] }
  return { rowIds, rejected: rows.flatMap((row, place) => (rowIds[place] === 0 ? [row?.id ?? null] : [])) }
}
