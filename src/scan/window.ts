import type { Row } from '../model/customer.ts'
import type { WindowFailure } from '../errors/error-facts.ts'
import type { AnsweredWindow, Window } from '../model/page.ts'
import { orderOfRows, type RowOrder } from './row-order.ts'

export type { Window, WindowFailure }

export type RowKey = string | number

/** What identifies a row: the number of its stored row, or else its id; undefined for a record that has neither. */
export function keyOf({ rowId, id }: Row): RowKey | undefined {
  return rowId ?? id
}

export type WindowAnswer = Pick<AnsweredWindow, 'perPage' | 'total' | 'beyondEnd'> & {
  /** As asked for. */
  readonly window: Window
  /** In the order served. If `rowOrder` is known, rows other than the first and the last may have row numbers alone. */
  readonly rows: readonly Row[]
  /** How its rows compare, if known; then all of them have a readable id. */
  readonly rowOrder?: RowOrder | undefined
}

/** The window that ended a scan early. `not-found`: no rows where the total promises some; `page-cap`: all requests were made before its end. */
export type StoppedAt = { readonly window: Window; readonly failure: WindowFailure | 'not-found' | 'page-cap' }

export function startOf({ page, size }: Window): number {
  return size * (page - 1)
}

export function endOf({ page, size }: Window): number {
  return size * page
}

export function windowKey({ page, size }: Window): string {
  return `${page}/${size}`
}

export function windowAt(position: number, size: number): Window {
  return { page: Math.floor(position / size) + 1, size }
}

/** The window of at most `most` rows that starts at or before a position and reaches furthest; on another page than `avoid`, if there is one. */
export function windowFrom(position: number, most: number, avoid?: number): Window {
  let best = windowAt(position, most)
  for (let size = most - 1; size >= most / 2; size -= 1) {
    const window = windowAt(position, size)
    if (window.page === avoid) continue
    if (endOf(window) > endOf(best) || best.page === avoid) best = window
  }
  return best
}

/** The next window behind `end`, which shares `overlap` positions before it, or at least one; undefined where no size gives one. */
export function windowAfter(end: number, overlap: number, most: number, avoid?: number): Window | undefined {
  for (let shared = Math.min(overlap, end); shared >= 1; shared -= 1) {
    const window = windowFrom(end - shared, most, avoid)
    if (endOf(window) > end) return window
  }
  return undefined
}

/** The window that goes on behind `reach` up to the roundest position before `ceiling`: limits of services are round numbers. */
export function windowUpTo(ceiling: number, reach: number, most: number, least: number): Window | undefined {
  for (const step of [1000, 100, 50, 10, 5, 1]) {
    const end = Math.floor((ceiling - 1) / step) * step
    for (let size = most; size >= least; size -= 1) {
      if (end > reach && end % size === 0 && end - size <= reach) return { page: end / size, size }
    }
  }
  return undefined
}

/** Positions `[from, to)`. */
export type Span = { readonly from: number; readonly to: number }

/** The same positions in order, joined where they touch. */
export function joinedSpans(spans: readonly Span[]): Span[] {
  const all: Span[] = []
  for (const span of spans.toSorted((one, other) => one.from - other.from)) {
    const last = all.at(-1)
    if (last === undefined || span.from > last.to) all.push(span)
    else all[all.length - 1] = { from: last.from, to: Math.max(last.to, span.to) }
  }
  return all
}

/** The page size to try after a refusal of this one; undefined if the size is not why: every service takes 50. */
export function sizeAfterRefusal(size: number): number | undefined {
  return size > 50 ? 50 : undefined
}

/** An answer, prepared for the comparison with its neighbours. */
export type ReadWindow = Readonly<ReturnType<typeof readOf>>

/** A list of which windows were read before does not become empty: an answer that says so is taken like a 404, which says nothing about the list. */
export function readOf({ window: asked, rows, rowOrder, perPage, total, beyondEnd }: WindowAnswer, turn: number) {
  const window = { page: asked.page, size: perPage }
  const keys = rows.flatMap((row) => keyOf(row) ?? [])
  // A forgotten customer from before an interruption does not show where it stands.
  const placed = rows.filter(({ id }) => id !== undefined)
  const [first, last] = [placed[0], placed.at(-1)]
  const isEmptied = rows.length === 0 && total === 0 && turn > 0
  const start = startOf(window)
  return {
    /** The window as served: its size is the one the service used. */
    window,
    /** The positions of its rows: `[start, reach)`. */
    start,
    reach: start + rows.length,
    total: isEmptied ? undefined : total,
    isBeyondEnd: beyondEnd || isEmptied,
    /** What identifies each row that has an identity, in the order served, and the place of each among them. */
    keys,
    places: new Map(keys.map((key, place) => [key, place])),
    /** The first and the last row that show where they stand. */
    ends: first === undefined || last === undefined ? undefined : ([first, last] as const),
    rowOrder: rowOrder ?? orderOfRows(placed),
    /** How many windows were read before it. */
    turn,
  }
}

/** Whether the window holds the last row of the list, or stands right behind it, and its total says the same. */
export function isEnd({ reach, start, total, window }: ReadWindow): boolean {
  return reach - start < window.size && total === reach
}

/** Whether it has fewer rows than its size, and its total denies that the list ends there: rows were left out, or the total is wrong. */
export function isDoubtful(read: ReadWindow): boolean {
  return read.reach - read.start < read.window.size && !isEnd(read)
}
