import type { Window } from '../../src/config/settings/window.ts'
import { WallClock } from './wall-clock.ts'

/** Hours in which runs may start, by the clocks of a time zone; without a window, all of them. */
export type Hours = { timezone: string; window?: Window }

/** One of the spans in which runs may start: from its first moment to the first after it. */
type Span = { fromMs: number; toMs: number }

/** Whether runs may start at a moment. */
export function isOpenAt({ timezone, window }: Hours, momentMs: number): boolean {
  return window === undefined || spanAt(window, timezone, momentMs) !== undefined
}

/** The end of the hours in which a moment lies; undefined outside of them, and where runs may start at any hour. */
export function closesAt({ timezone, window }: Hours, momentMs: number): number | undefined {
  return window && spanAt(window, timezone, momentMs)?.toMs
}

/** The latest moment, not after this one, at which runs may start. */
export function latestOpen(hours: Hours, momentMs: number): number {
  const { timezone, window } = hours
  if (window === undefined || isOpenAt(hours, momentMs)) return momentMs
  const ended = spansAround(window, timezone, momentMs, [-2, -1, 0]).filter(({ toMs }) => toMs <= momentMs)
  return Math.max(...ended.map(({ toMs }) => toMs)) - 1
}

/** The first moment after this one at which the hours begin; undefined where runs may start at any hour. */
export function opensAfter({ timezone, window }: Hours, momentMs: number): number | undefined {
  if (window === undefined) return undefined
  const coming = spansAround(window, timezone, momentMs, [-1, 0, 1, 2]).filter(({ fromMs }) => fromMs > momentMs)
  return Math.min(...coming.map(({ fromMs }) => fromMs))
}

/** How long no run may start between two windows, on a day like others. */
export function closedMs({ window }: Pick<Hours, 'window'>): number {
  return window === undefined ? 0 : DAY_MS - lengthOf(window)
}

/** Whether one of these minutes of a day lies in the window. */
export function opensAtSome({ fromMinute, toMinute }: Window, minutes: readonly number[]): boolean {
  return minutes.some((minute) =>
    fromMinute < toMinute ? minute >= fromMinute && minute < toMinute : minute >= fromMinute || minute < toMinute,
  )
}

function spanAt(window: Window, timezone: string, momentMs: number): Span | undefined {
  return spansAround(window, timezone, momentMs, [0, -1]).find(
    ({ fromMs, toMs }) => fromMs <= momentMs && momentMs < toMs,
  )
}

/**
 * The spans that begin on days around a moment, by their distance in days. Where the clocks show an hour twice, both times are in the
 * window or none is; a window that they skip opens at the end of the gap, and stays open for its whole length.
 */
function spansAround(window: Window, timezone: string, momentMs: number, days: readonly number[]): Span[] {
  const clock = new WallClock(timezone)
  const midnightMs = Math.floor(clock.at(momentMs) / DAY_MS) * DAY_MS
  return days.map((day) => {
    const beginsMs = midnightMs + day * DAY_MS + window.fromMinute * MINUTE_MS
    const fromMs = clock.momentOf(beginsMs)
    const toMs = clock.momentOf(beginsMs + lengthOf(window))
    return { fromMs, toMs: toMs > fromMs ? toMs : fromMs + lengthOf(window) }
  })
}

function lengthOf({ fromMinute, toMinute }: Window): number {
  return (toMinute - fromMinute) * MINUTE_MS + (toMinute > fromMinute ? 0 : DAY_MS)
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
