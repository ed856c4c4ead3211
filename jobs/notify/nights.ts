import { createHash } from 'node:crypto'
import type { LastRun } from '../../src/store.ts'
import { GRACE_MS } from '../schedule/due-outlook.ts'
import { nextAfter, previousDueMs, startDelayMs, type Schedule } from '../schedule/due-times.ts'
import { wasReadSince } from '../schedule/missed-runs.ts'

/** The organizations that are due by the same cron line in the same time zone. */
export type Rota = {
  /** A name for its values in the queue. */
  name: string
  cron: string
  timezone: string
  organizations: readonly { id: string; schedule: Schedule }[]
}

/** One due time of a rota. Times in Unix milliseconds. */
export type Night = Pick<Rota, 'cron' | 'timezone'> & {
  dueMs: number
  /** Each organization with the moment at which it is due, its spread included. */
  organizations: readonly { id: string; dueMs: number }[]
  /** When the night ends at the latest, whatever is still under way. */
  lastMs: number
}

/** How an organization stands in a night. `pending`: its run is still to come, or to end. */
export type Ended = 'complete' | 'failed' | 'pending'

/** The rotas of the configured organizations, by name. */
export function rotasOf(organizations: readonly { id: string; schedule: Schedule | undefined }[]): Rota[] {
  const scheduled = organizations.flatMap(({ id, schedule }) => (schedule === undefined ? [] : [{ id, schedule }]))
  const byLine = Map.groupBy(scheduled, ({ schedule: { cron, timezone } }) => `${cron}\n${timezone}`)
  return [...byLine].flatMap(([line, each]) => {
    const [first] = each
    if (first === undefined) return []
    const { cron, timezone } = first.schedule
    const name = createHash('sha256').update(line).digest('hex').slice(0, 12)
    return [{ name, cron, timezone, organizations: each }]
  })
}

/** The latest due time of a rota that has come, without the spread; undefined if there was none for years. */
export function lastDueMs({ name, cron, timezone }: Rota, nowMs: number): number | undefined {
  const dueMs = previousDueMs(name, { cron, timezone, spreadMs: 0 }, nowMs)
  return dueMs > 0 ? dueMs : undefined
}

/**
 * The night of a due time. It ends at the latest two hours after the last organization is due, or after a worker first saw that night, and
 * when the next night begins.
 */
export function nightAt({ cron, timezone, organizations }: Rota, dueMs: number, seenMs: number): Night {
  const due = organizations.map(({ id, schedule }) => ({ id, dueMs: dueMs + startDelayMs(id, schedule) }))
  const spreadMs = Math.max(0, ...due.map((each) => each.dueMs - dueMs))
  return {
    ...{ cron, timezone, dueMs },
    organizations: due,
    lastMs: spreadMs + Math.min(nextAfter({ cron, timezone }, dueMs), Math.max(dueMs, seenMs) + GRACE_MS),
  }
}

/** What is known of an organization: `isCalledOff` where a person wants no run for the due time. */
export type Known = { lastRun: LastRun | undefined; hasJob: boolean; isCalledOff: boolean; nowMs: number }

/** How an organization stands that was due. While it has a job, a failed run is tried again. */
export function endedAs(dueMs: number, { lastRun, hasJob, isCalledOff, nowMs }: Known): Ended {
  if (wasReadSince(dueMs, lastRun, nowMs)) return 'complete'
  const hasFailed = lastRun?.status === 'failed' && lastRun.startedAtMs >= dueMs
  return (hasFailed || isCalledOff) && !hasJob ? 'failed' : 'pending'
}
