import { hash } from 'node:crypto'
import { parsedCron } from '../../src/config/schedule.ts'

/** When an organization is mirrored: cron fields in a time zone, and the time over which starts are spread. */
export type Schedule = { cron: string; timezone: string; spreadMs: number }

/** How much later than its cron line an organization starts: always the same, and shorter than the time to the next moment. */
export function startDelayMs(organization: string, { cron, spreadMs }: Pick<Schedule, 'cron' | 'spreadMs'>): number {
  if (spreadMs === 0) return 0
  const share = hash('sha256', organization, 'buffer').readUInt32BE() / 2 ** 32
  return Math.floor((share * Math.min(spreadMs, leastGapMs(cron))) / 1000) * 1000
}

/** The shortest time between two moments of a cron line, by clocks that do not change. */
function leastGapMs(cron: string): number {
  const known = LEAST_GAPS.get(cron)
  if (known !== undefined) return known
  const moments = parsedCron({ cron, timezone: 'UTC' }).nextRuns(ENOUGH, EPOCH).map(Number)
  const leastMs = Math.min(...moments.slice(1).map((atMs, index) => atMs - (moments[index] ?? 0)))
  LEAST_GAPS.set(cron, leastMs)
  return leastMs
}

const LEAST_GAPS = new Map<string, number>()
/** Moments of a line that show its shortest gap, between hours as between days. Each takes a third of a millisecond. */
const ENOUGH = 100
const EPOCH = new Date(0)

/** The latest moment, not after `nowMs`, at which the organization was due; 0 if there was none for years. */
export function previousDueMs(organization: string, schedule: Schedule, nowMs: number): number {
  const delayMs = startDelayMs(organization, schedule)
  const { lastMs } = momentsAround(schedule, nowMs - delayMs)
  return lastMs === 0 ? 0 : lastMs + delayMs
}

/**
 * The first moment after `nowMs` at which the organization is due. A time of day that clocks skip is due when the gap ends, and one that they show
 * twice the first time; a line with `*` or a step for its hours or minutes goes on through both. Infinity when there is none.
 */
export function nextDueMs(organization: string, schedule: Schedule, nowMs: number): number {
  const delayMs = startDelayMs(organization, schedule)
  return momentsAround(schedule, nowMs - delayMs).nextMs + delayMs
}

/** The moments of the next `count` runs after `nowMs`, in Unix milliseconds; fewer where a calendar ends before. */
export function comingRuns(organization: string, schedule: Schedule, nowMs: number, count: number): number[] {
  const runs: number[] = []
  const next = (afterMs: number) => nextDueMs(organization, schedule, afterMs)
  for (let atMs = next(nowMs); runs.length < count && atMs < Infinity; atMs = next(atMs)) runs.push(atMs)
  return runs
}

/** The moments of a cron line around one: the latest until then, 0 if there was none for years, and the first after it, if any. */
function momentsAround(line: Schedule, atMs: number): { lastMs: number; nextMs: number } {
  const key = `${line.cron}\n${line.timezone}`
  const found = FOUND.get(key) ?? []
  const known = found.find(({ lastMs, nextMs }) => lastMs <= atMs && atMs < nextMs)
  if (known !== undefined) return known
  const runs = parsedCron(line)
  const next = runs.nextRun(new Date(atMs))
  const [last = EPOCH] = runs.previousRuns(1, new Date(atMs + 1))
  const around = { lastMs: last.getTime(), nextMs: next?.getTime() ?? Infinity }
  FOUND.set(key, [around, ...found.slice(0, MOST_FOUND - 1)])
  return around
}

/** What was found last of each line, since many organizations ask for the same. */
const FOUND = new Map<string, { lastMs: number; nextMs: number }[]>()
const MOST_FOUND = 8

/** When an organization has runs between its nights: their own cron line in the same time zone. Undefined where it has none. */
export function betweenNights({ quick, ...night }: Schedule & { quick?: string }): Schedule | undefined {
  return quick === undefined ? undefined : { ...night, cron: quick }
}
