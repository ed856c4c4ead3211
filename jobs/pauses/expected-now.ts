import { pauseEndedMs, pauseOf, type Pauses } from '../../src/pause.ts'
import { GRACE_MS } from '../schedule/due-outlook.ts'

/** The organizations that may be late: those that are not paused, and were not a moment ago. */
export function expectedNow<Each extends { id: string }>(
  organizations: readonly Each[],
  pauses: Pauses,
  nowMs: number,
): Each[] {
  return organizations.filter(({ id }) => {
    const endedMs = pauseEndedMs(pauses, id, nowMs)
    return pauseOf(pauses, id, nowMs) === undefined && (endedMs === undefined || nowMs - endedMs >= GRACE_MS)
  })
}
