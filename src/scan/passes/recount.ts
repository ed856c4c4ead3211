import type { Findings } from '../findings.ts'
import type { ReadWindow } from '../window/read-window.ts'
import type { TieRegion } from '../proof/tie-region.ts'
import { isSame, type Window, windowKey } from '../window/window.ts'

/** If each answer shows the rows in a new order, ln(rows) + 5 windows for each of their pages leave a chance of e^-5 to miss a row. */
const SURE = 5
/** Regions of more rows, which many answers crossed, keep what the chain read if no total changed. */
const FEW_ROWS = 1000
/** A count may ask for so many times the pages of the list: several passes cost more. A short list may take a few windows more. */
const MOST_SHARE = 2
const FEW_WINDOWS = 40

/**
 * Reads windows inside a region of equal creation times until as many different rows were read as the region has positions, then
 * both its ends again, to see that it stands where it stood.
 *
 *   starting ──▶ filling ── every row was read ──▶ ending ── both ends are where they were ──▶ counted, over
 *      │            └── no window is left ──▶ over      └── one of them is not ──▶ over
 *      └── one of them is not where it was ──▶ over
 *
 * Rows that were deleted after they were read must not stand in for others. Where the total changed while the chain crossed the
 * region, or few answers did, so that one customer may have come just as one left, the count starts anew: the beginning,
 * the end, and the beginning again are read, which shows at one moment how many positions the region has, and only rows read
 * after that count.
 */
export class Recount {
  readonly #region: TieRegion
  readonly #toFill: Window[]
  /** Windows at the ends of the region, to be read one after another; undefined while it is filled. */
  #toCheck: Window[] | undefined
  #isFilled = false
  readonly #underWay = new Set<string>()
  over = false

  constructor(region: TieRegion, findings: Findings) {
    this.#region = region
    this.#toFill = windowsInside(region, findings)
    const isTrusted = region.isQuiet && region.size > FEW_ROWS
    if (!isTrusted && this.#toFill.length > 0) this.#startAnew()
    this.#settle()
  }

  next(): Window | undefined {
    const isWaiting = this.#toCheck !== undefined && this.#underWay.size > 0
    const window = this.over || isWaiting ? undefined : (this.#toCheck ?? this.#toFill).shift()
    if (window !== undefined) this.#underWay.add(windowKey(window))
    return window
  }

  take(window: Window, read: ReadWindow): void {
    if (!this.#underWay.delete(windowKey(window)) || this.over) return
    if (this.#toCheck === undefined) this.#region.add(read)
    else if (!this.#stands(window, read)) this.over = true
    this.#settle()
  }

  failed(window: Window): void {
    if (this.#underWay.delete(windowKey(window))) this.over = true
  }

  #stands(window: Window, again: ReadWindow): boolean {
    return isSame(window, this.#region.start.window) ? this.#region.begins(again) : this.#region.ends(again)
  }

  #startAnew(): void {
    const { start, end } = this.#region
    this.#region.forget()
    this.#toCheck = [start.window, end.window, start.window]
  }

  #settle(): void {
    if (this.over) return
    const isAllRead = this.#underWay.size === 0 && (this.#toCheck ?? this.#toFill).length === 0
    if (this.#toCheck === undefined && this.#region.unread <= 0) {
      this.#underWay.clear()
      this.#isFilled = true
      this.#toCheck = [this.#region.start.window, this.#region.end.window]
    } else if (isAllRead && this.#toCheck !== undefined && !this.#isFilled) {
      this.#toCheck = undefined
    } else if (isAllRead) {
      this.#region.isCounted = this.#isFilled
      this.over = true
    }
  }
}

/** Windows inside the region in many sizes, the largest first: as many as it takes to meet every row; none where that costs too much. */
function windowsInside(region: TieRegion, { pageSize, total }: Findings): Window[] {
  const { from, to, size: rows } = region
  const pages = Math.ceil(rows / pageSize)
  const allowed = Math.ceil((MOST_SHARE * total) / pageSize) + FEW_WINDOWS
  const expected = pages * Math.log(Math.max(2, rows))
  const windows: Window[] = []
  if (!region.isCountable || expected > allowed) return windows
  const most = Math.min(allowed, Math.ceil(expected + pages * SURE))
  for (let size = pageSize; size >= Math.ceil(pageSize / 2); size -= 1) {
    for (let page = Math.ceil(from / size) + 1; page * size <= to; page += 1) {
      if (windows.length === most) return windows
      windows.push({ page, size })
    }
  }
  return windows
}
