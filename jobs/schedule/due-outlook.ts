import { isFarAhead } from '../../src/time/clock-tolerance.ts'
import type { Organization } from '../../src/config/organization.ts'
import type { Due } from '../../src/page/overview.ts'
import type { Freshness, LastRun } from '../../src/store.ts'
import { localTime, nextDueMs, previousDueMs, quickSchedule, type Schedule } from './due-times.ts'
import { wasReadSince } from './missed-runs.ts'

/** How long after its due time an organization may take. */
export const GRACE_MS = 2 * 3_600_000

export type Scheduled = Pick<Organization, 'id' | 'schedule' | 'seenAtMs'>
type ReadSoFar = Pick<Freshness, 'readAsOfMs' | 'firstRunAtMs'>
type Known = Pick<LastRun, 'completeAsOfMs' | 'firstRunAtMs'>

/**
 * Since when an organization is late: it was due then, the time it may take has passed, and it was not read since. Undefined where it is
 * not late. A new organization is due from the moment it is first seen, whatever its schedule says of the time before.
 */
export function lateSinceMs(
  organization: Scheduled & { schedule: Schedule },
  known: Known | undefined,
  nowMs: number,
): number | undefined {
  const untilMs = nowMs - GRACE_MS
  const dueMs = previousDueMs(organization.id, organization.schedule, untilMs)
  if (wasReadSince(dueMs, known, nowMs)) return undefined
  const sinceMs = Math.max(dueMs, newSinceMs(organization, known, nowMs))
  return sinceMs <= untilMs ? sinceMs : undefined
}

/** Since when an organization is known whose list was never read to its end; 0 for any other, and where it is unknown. */
function newSinceMs({ seenAtMs }: Scheduled, known: Known | undefined, nowMs: number): number {
  if (known?.completeAsOfMs !== undefined) return 0
  const moments = [seenAtMs, known?.firstRunAtMs].filter((atMs) => atMs !== undefined)
  // A moment far ahead comes from a wrong clock.
  const plausible = moments.filter((atMs) => !isFarAhead(atMs, nowMs))
  return plausible.length === 0 ? 0 : Math.min(...plausible)
}

/** The outlook of each configured organization, by its id. */
export function dueOutlooks(
  organizations: readonly Scheduled[],
  nowMs: number,
): (id: string, freshness: ReadSoFar | undefined) => Due | undefined {
  const byId = new Map(organizations.map((organization) => [organization.id, organization]))
  return (id, freshness) => {
    const organization = byId.get(id)
    return organization && dueOutlook(organization, freshness, nowMs)
  }
}

/** When an organization was due last and is due next, and whether it was read since. Undefined where it has no schedule. */
function dueOutlook(organization: Scheduled, freshness: ReadSoFar | undefined, nowMs: number): Due | undefined {
  const { id, schedule } = organization
  if (schedule === undefined) return undefined
  const { readAsOfMs: completeAsOfMs, firstRunAtMs } = freshness ?? {}
  const known = { completeAsOfMs, firstRunAtMs }
  const lastMs = Math.max(previousDueMs(id, schedule, nowMs), newSinceMs(organization, known, nowMs))
  const nextMs = nextDueMs(id, schedule, nowMs)
  const quick = quickSchedule(schedule)
  return {
    lastMs,
    nextMs,
    nextLocal: localTime(nextMs, schedule.timezone),
    nextQuickMs: quick && nextDueMs(id, quick, nowMs),
    isDue: !wasReadSince(lastMs, known, nowMs),
    isLate: lateSinceMs({ ...organization, schedule }, known, nowMs) !== undefined,
  }
}
