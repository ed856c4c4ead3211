import { sortableInstant } from './created-at.ts'
import { type Row, startOf, type Window, type WindowRead } from './window.ts'

/** A row with a readable id, by its position in its window. */
export type HeldRow = {
  readonly id: string
  /** The creation time as sortable text; undefined when unreadable. */
  readonly createdAt: string | undefined
  readonly rowId?: number | undefined
}

/** A window that was read, made ready for comparing with its neighbours. */
export type Held = {
  /** The window as served: its size is the one the service used. */
  readonly window: Window
  /** Position of the first row. */
  readonly start: number
  /** Position after the last row. */
  readonly reach: number
  readonly total: number | undefined
  /** The ids by position in the window; undefined where unreadable. */
  readonly ids: readonly (string | undefined)[]
  /** The rows with a readable id, in the order served. */
  readonly rows: readonly HeldRow[]
  /** Where each id stands among `rows`, for the last time where it stands there twice. */
  readonly places: ReadonlyMap<string, number>
}

export function hold(read: WindowRead): Held {
  const window = { page: read.window.page, size: read.perPage }
  const ids: (string | undefined)[] = []
  const rows: HeldRow[] = []
  const places = new Map<string, number>()
  for (const row of read.rows) {
    const { id } = row
    ids.push(id)
    if (id === undefined) continue
    places.set(id, rows.length)
    const createdAt = sortableInstant(row.createdAt)
    // Of most services the time is sortable as it is sent, and its row needs no copy.
    rows.push(isReadable(row) && createdAt === row.createdAt ? row : { id, createdAt, rowId: row.rowId })
  }
  const start = startOf(window)
  return { window, start, reach: start + ids.length, total: read.total, ids, rows, places }
}

function isReadable(row: Row): row is Row & { id: string } {
  return row.id !== undefined
}

/** Whether the window lists a row twice. */
export function hasDuplicates(held: Held): boolean {
  return held.places.size < held.rows.length
}

/** Whether the window held the last row of the list, and the service's total says the same. */
export function isEnd(held: Held): boolean {
  return held.ids.length < held.window.size && (held.total === held.reach || isBeyondEnd(held))
}

/** An empty answer for positions the list does not have, as its total says. */
export function isBeyondEnd(held: Held): boolean {
  return held.ids.length === 0 && held.total !== undefined && held.total <= held.start
}

/** A short window whose total tells another story: rows were left out, or the total is wrong. */
export function isDoubtful(held: Held): boolean {
  return held.ids.length < held.window.size && !isEnd(held)
}

/** How many rows at the end of the window share its last creation time. */
export function tiesAtEnd(held: Held): number {
  const last = held.rows.at(-1)?.createdAt
  const other = held.rows.findLastIndex((row) => row.createdAt !== last)
  return held.rows.length - 1 - other
}
