import { nextAfter, nextDueMs, type Schedule } from './due-times.ts'

/** The schedule of an organization, with the cron line of its quick runs if it has one. */
type WithQuick = Schedule & { quick?: string }

/** When an organization has quick runs: its own cron line in the same time zone. Undefined where it has none. */
export function quickSchedule({ quick, ...night }: WithQuick): Schedule | undefined {
  return quick === undefined ? undefined : { ...night, cron: quick }
}

/** The quick runs of an organization in the next 24 hours, the first of all to come, and whether each meets a full run. */
export type QuickOutlook = { inADay: number; nextMs: number; isAlwaysAtNight: boolean }

const DAY_MS = 86_400_000
const LOOKED_AT = 20

/** What the quick line of an organization comes to; undefined where it has none. Throws for lines without a future moment. */
export function quickOutlook(organization: string, schedule: WithQuick, nowMs: number): QuickOutlook | undefined {
  const quick = quickSchedule(schedule)
  if (quick === undefined) return undefined
  let inADay = 0
  for (let atMs = nextAfter(quick, nowMs); atMs < nowMs + DAY_MS; atMs = nextAfter(quick, atMs)) inADay += 1
  let atMs = nowMs
  const isAlwaysAtNight = Array.from({ length: LOOKED_AT }, () => (atMs = nextAfter(quick, atMs))).every(
    (momentMs) => nextAfter(schedule, momentMs - 1) === momentMs,
  )
  return { inADay, nextMs: nextDueMs(organization, quick, nowMs), isAlwaysAtNight }
}
