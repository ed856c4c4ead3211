import type { Reckoning, Retention } from '../../run.ts'
import { fromSqlTime, sqlTime } from '../port/sql-time.ts'

const DAY_MS = 86_400_000

/** What retention deletes. */
export type Kind = 'changes' | 'resolvedRejects' | 'runs' | 'removedCustomers'

/** Rows from before a moment are deleted; `asOfMs` is now. Unix milliseconds. */
export type Due = { beforeMs: number; asOfMs: number }

type DueKind = Due & { kind: Kind }

/** The kinds of which rows are deleted. Runs last: what was deleted before refers to them no more. */
export function kindsToPrune(retention: Retention, asOfMs: number): DueKind[] {
  const { changesMs, resolvedRejectsMs, runsMs, removedCustomersMs } = retention
  const due = (kind: Kind, ageMs: number | undefined): DueKind[] =>
    ageMs === undefined ? [] : [{ kind, beforeMs: asOfMs - ageMs, asOfMs }]
  return [
    ...due('removedCustomers', removedCustomersMs),
    ...due('resolvedRejects', resolvedRejectsMs),
    ...due('changes', changesMs),
    ...due('runs', runsMs),
  ]
}

/** So many different days must have had a complete run before a clock that no other one confirms is believed. */
export const DAYS_TO_BELIEVE = 7
/** How far such a clock may be ahead of the first of them. */
const AHEAD_MS = 31 * DAY_MS

/**
 * The moment against which ages are measured. A clock that jumped ahead by years must not delete everything: where no other clock
 * confirms it, the moment is at most a month after the day of the organization's seventh last day with a complete run. `day` is that
 * day, or the first one if there are fewer; undefined without a complete run.
 */
export function believedMs({ asOfMs, isConfirmed }: Reckoning, day: string | undefined): number {
  if (isConfirmed) return asOfMs
  // Without a complete run nothing says how late it is.
  if (day === undefined) return 0
  return Math.min(asOfMs, fromSqlTime(`${day} 00:00:00.000`) + AHEAD_MS)
}

/** A moment of the configuration as it stands in the mirror, which has no time before 1970. */
export function timeBefore(beforeMs: number): string {
  return sqlTime(Math.max(0, beforeMs))
}

/** The day (UTC) of a moment, as it stands in the mirror. */
export function dayOf(beforeMs: number): string {
  return timeBefore(beforeMs).slice(0, 'YYYY-MM-DD'.length)
}

/** Changes dated so far after the horizon are not looked at to find where the feed is to begin. */
const WINDOW_MS = 60 * DAY_MS

/** Days (UTC) as text: changes before `day` are old, and those after `last` were dated by a wrong clock. */
export function daysOfChanges(beforeMs: number, asOfMs: number): { day: string; last: string } {
  return { day: dayOf(beforeMs), last: dayOf(Math.min(asOfMs + DAY_MS, beforeMs + WINDOW_MS)) }
}

/** To find the runs that no customer refers to, every customer is read: not more often than this. */
const LOOKED_THROUGH_EVERY_MS = 30 * DAY_MS

/**
 * Whether the runs of an organization are to be looked through again. `done` is the day up to which they were; one that is still to come
 * is of a clock that was ahead, or of a shorter age.
 */
export function areRunsDue(done: string | undefined, beforeMs: number): boolean {
  return done === undefined || done <= dayOf(beforeMs - LOOKED_THROUGH_EVERY_MS) || done > dayOf(beforeMs)
}
