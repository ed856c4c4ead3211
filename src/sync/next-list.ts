import { emptyColumns, UNKNOWN, type ListAsRead, type ListColumns, type ListedWindow } from '../model/list-as-read.ts'
import type { OrderFacts } from '../model/order-facts.ts'
import { LinkedOrder } from './linked-order.ts'
import type { ListRecorder, RememberedWindow } from './list-recorder.ts'
import { PlaceIndex } from './place-index.ts'

export type NextListOptions = {
  /** The most customers that the windows can have, each counted once. */
  customers: number
  /** The list the run began with, and whether a customer is still stored as in that list. */
  before: { list: ListAsRead; isCertain: (rowId: number) => boolean }
}

/**
 * The list a complete run leaves behind: its windows in the order of their positions. A customer who was not met in an earlier window
 * stands between those who stand before and behind it in its own: positions shift while a scan reads, its neighbours do not. A customer
 * that came with two different records is kept without a fingerprint, since only one of them is stored; a window that is not one
 * unbroken part of that list, or holds a customer without a fingerprint, is not kept.
 */
export function nextList(recorder: ListRecorder, { customers, before }: NextListOptions): ListAsRead {
  const windows = [...recorder.windows].toSorted((one, other) => one.start - other.start)
  if (isUnchanged(windows, before.list)) return before.list
  const { columns, count, listed } = sorted(gather(windows, customers), windows)
  carryOver(columns, count, before)
  const kept = firstOfEachDigest(listed).filter((window) => isRecognizable(columns, window))
  return { columns: cut(columns, count), windows: kept, warnings: recorder.warnings, order: {} }
}

/** Whether every window is known from the list before, at the same place. */
function isUnchanged(windows: readonly RememberedWindow[], { columns, windows: known }: ListAsRead): boolean {
  if (windows.length === 0 || windows.length !== known.length) return false
  return windows.every((window, number) => window.columns === columns && window.from === known[number]?.place)
}

/** The same list with what the scan found out about it. */
export function withOrder(list: ListAsRead, order: OrderFacts): ListAsRead {
  return JSON.stringify(list.order) === JSON.stringify(order) ? list : { ...list, order }
}

/** Customers in the order in which they were added, their order in the list, and the windows that are unbroken parts of the former. */
type Gathered = {
  readonly columns: ListColumns
  readonly index: PlaceIndex
  readonly order: LinkedOrder
  readonly listed: ListedWindow[]
  count: number
}

function gather(windows: readonly RememberedWindow[], room: number): Gathered {
  const columns = emptyColumns(room)
  const index = new PlaceIndex(columns.rowIds)
  const gathered: Gathered = { columns, index, order: new LinkedOrder(room), listed: [], count: 0 }
  for (const window of windows) appendWindow(window, gathered)
  return gathered
}

/** The same customers, added in the order of the list. */
function sorted(gathered: Gathered, windows: readonly RememberedWindow[]): Gathered {
  if (gathered.order.isInOrder) return gathered
  const { columns: unsorted, count, order } = gathered
  const columns = emptyColumns(unsorted.rowIds.length)
  let place = 0
  for (const entry of order) copyEntry(unsorted, entry, columns, place++)
  const again = { columns, index: PlaceIndex.over(columns.rowIds), order: new LinkedOrder(0), listed: [], count }
  for (const window of windows) appendWindow(window, again)
  return again
}

function appendWindow(window: RememberedWindow, gathered: Gathered): void {
  const { columns, index } = gathered
  const { columns: source, from, digest, outline } = window
  let place = -1
  let before = -1
  let isUnbroken = digest !== undefined
  for (let at = from; at < from + window.count; at += 1) {
    const rowId = source.rowIds[at] ?? 0
    let stands = index.find(rowId)
    if (stands < 0 && rowId !== 0) {
      stands = add(gathered, window, at)
    } else if (stands >= 0 && source.fingerprints[at] !== columns.fingerprints[stands]) {
      columns.fingerprints[stands] = UNKNOWN
    }
    if (at === from) place = stands
    else if (stands > 0 && before === stands - 1) keepComparison(source, at - 1, columns, before)
    before = stands
    isUnbroken &&= stands >= 0 && stands === place + (at - from)
  }
  if (isUnbroken && digest !== undefined && window.count > 0)
    gathered.listed.push({ place, count: window.count, digest, outline })
}

/** Adds the customer at `at`, who is in no earlier window: behind the nearest known one in its window, or before the first known one. */
function add(gathered: Gathered, { columns: source, from, count }: RememberedWindow, at: number): number {
  const { columns, index, order } = gathered
  const entry = gathered.count++
  const before = nearestKnown(index, source.rowIds, { from: at - 1, to: from - 1, step: -1 })
  const behind = before < 0 ? nearestKnown(index, source.rowIds, { from: at + 1, to: from + count, step: 1 }) : -1
  if (behind < 0) order.addAfter(before < 0 ? undefined : before)
  else order.addBefore(behind)
  copyEntry(source, at, columns, entry)
  index.add(entry)
  return entry
}

/** Where the first of these rows stands that is known; -1 if none is. */
function nearestKnown(
  index: PlaceIndex,
  rowIds: Uint32Array,
  { from, to, step }: { from: number; to: number; step: 1 | -1 },
): number {
  for (let at = from; at !== to; at += step) {
    const stands = index.find(rowIds[at] ?? 0)
    if (stands >= 0) return stands
  }
  return -1
}

function copyEntry(from: ListColumns, at: number, to: ListColumns, place: number): void {
  to.rowIds[place] = from.rowIds[at] ?? 0
  to.fingerprints[place] = from.fingerprints[at] ?? UNKNOWN
  to.idFingerprints[place] = from.idFingerprints[at] ?? UNKNOWN
  to.oddities[place] = from.oddities[at] ?? 0
}

/** Neighbours in a window are neighbours in the list, so their comparison is kept. */
function keepComparison({ comparisons }: ListColumns, at: number, to: ListColumns, place: number): void {
  const comparison = comparisons[at] ?? 0
  if (comparison !== 0) to.comparisons[place] = comparison
}

/**
 * Customers from windows of an interrupted run are known only by their rows. If they were not written since the list before, they are
 * still stored as in that list.
 */
function carryOver(columns: ListColumns, count: number, { list, isCertain }: NextListOptions['before']): void {
  let byRow: PlaceIndex | undefined
  const { idFingerprints } = columns
  for (let place = idFingerprints.indexOf(UNKNOWN); place >= 0 && place < count;) {
    const rowId = columns.rowIds[place] ?? 0
    byRow ??= PlaceIndex.over(list.columns.rowIds)
    const before = byRow.find(rowId)
    if (before >= 0 && isCertain(rowId)) copyEntry(list.columns, before, columns, place)
    place = idFingerprints.indexOf(UNKNOWN, place + 1)
  }
}

/** Several windows can have the same records: one is enough. */
function firstOfEachDigest(windows: readonly ListedWindow[]): ListedWindow[] {
  const seen = new Set<string>()
  return windows.filter(({ digest }) => !seen.has(digest) && seen.add(digest))
}

function isRecognizable({ fingerprints }: ListColumns, { place, count }: ListedWindow): boolean {
  for (let at = place; at < place + count; at += 1) if (fingerprints[at] === UNKNOWN) return false
  return true
}

function cut({ rowIds, fingerprints, idFingerprints, comparisons, oddities }: ListColumns, count: number): ListColumns {
  return {
    rowIds: rowIds.subarray(0, count),
    fingerprints: fingerprints.subarray(0, count),
    idFingerprints: idFingerprints.subarray(0, count),
    comparisons: comparisons.subarray(0, count),
    oddities: oddities.subarray(0, count),
  }
}
