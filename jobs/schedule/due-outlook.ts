import type { Organization } from '../../src/config/organization.ts'
import type { Due } from '../../src/page/overview.ts'
import type { Freshness } from '../../src/store.ts'
import { comingRuns, localTime, previousDueMs, type Schedule } from './due-times.ts'
import { quickSchedule, spreadBetween } from './quick-times.ts'
import { wasReadSince } from './schedule-plan.ts'

/** How long after its due time an organization may take. */
export const GRACE_MS = 2 * 3_600_000

/** The outlook of each configured organization, by its id. */
export function dueOutlooks(
  organizations: readonly Pick<Organization, 'id' | 'schedule'>[],
  nowMs: number,
): (id: string, freshness: Pick<Freshness, 'readAsOfMs'> | undefined) => Due | undefined {
  const byId = new Map(organizations.map((organization) => [organization.id, organization]))
  return (id, freshness) => {
    const organization = byId.get(id)
    return organization && dueOutlook(organization, freshness, nowMs)
  }
}

/** When an organization was due last and is due next, and whether it was read since. Undefined where it has no schedule. */
function dueOutlook(
  { id, schedule }: Pick<Organization, 'id' | 'schedule'>,
  freshness: Pick<Freshness, 'readAsOfMs'> | undefined,
  nowMs: number,
): Due | undefined {
  if (schedule === undefined) return undefined
  const read = { completeAsOfMs: freshness?.readAsOfMs }
  const lastMs = previousDueMs(id, schedule, nowMs)
  const nextMs = nextOf(id, schedule, nowMs)
  const quick = quickSchedule(schedule)
  return {
    lastMs,
    nextMs,
    nextLocal: localTime(nextMs, schedule.timezone),
    nextQuickMs: quick && nextOf(id, spreadBetween(quick, nowMs), nowMs),
    isDue: !wasReadSince(lastMs, read, nowMs),
    isLate: !wasReadSince(previousDueMs(id, schedule, nowMs - GRACE_MS), read, nowMs),
  }
}

function nextOf(organization: string, schedule: Schedule, nowMs: number): number {
  const [next] = comingRuns(organization, schedule, nowMs, 1)
  return next?.atMs ?? nowMs
}
