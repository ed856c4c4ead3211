import { isFarAhead } from '../../src/time/clock-tolerance.ts'
import { deleteCancellation, listCancellations, type Cancellation } from '../queue/cancellations.ts'
import type { SharedValues } from '../queue/shared-values.ts'
import { previousDueMs } from './due-times.ts'
import type { Wanted } from './schedule-plan.ts'

/**
 * Until when a person cancelled the runs of organizations, in Unix milliseconds. Cancels that hold nothing back any more are deleted
 * from the queue; those that a clock far ahead has dated are ignored.
 */
export async function readCancelledUntil(
  values: Pick<SharedValues, 'list' | 'delete'>,
  wanted: readonly Wanted[],
  nowMs: number,
): Promise<Map<string, number>> {
  const until = new Map<string, number>()
  for (const [organization, cancellation] of await listCancellations(values)) {
    const schedule = wanted.find((each) => each.organization === organization)?.schedule
    const dueMs = schedule && previousDueMs(organization, schedule, nowMs)
    if (isOver(cancellation, dueMs, nowMs)) await deleteCancellation(values, organization)
    else if (!isFarAhead(cancellation.askedAtMs, nowMs)) until.set(organization, cancellation.untilMs)
  }
  return until
}

/** Whether the organization was due since, or has no schedule, and its job has had a day to end. */
function isOver({ askedAtMs, untilMs }: Cancellation, dueMs: number | undefined, nowMs: number): boolean {
  return (dueMs === undefined || dueMs > untilMs) && Math.abs(nowMs - askedAtMs) > DAY_MS
}

const DAY_MS = 86_400_000
