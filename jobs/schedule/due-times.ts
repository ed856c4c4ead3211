import { createHash } from 'node:crypto'
import { CronExpressionParser } from 'cron-parser'

/** When an organization is mirrored: cron fields in a time zone, and the time over which starts are spread. */
export type Schedule = { cron: string; timezone: string; spreadMs: number }

/** A future run. `clocksChange` if the local day of that run is an hour longer or shorter than others. */
export type ComingRun = { atMs: number; clocksChange: boolean }

/** The delay of an organization's start after the moment of its cron line: always the same, from 0 to its spread. */
export function startDelayMs(organization: string, { spreadMs }: Pick<Schedule, 'spreadMs'>): number {
  const share = createHash('sha256').update(organization).digest().readUInt32BE() / 2 ** 32
  return Math.floor((share * spreadMs) / 1000) * 1000
}

const HOUR_MS = 3_600_000

/** How far to look back for the latest moment of a cron line: most lines have one every day, some only in leap years. */
const LOOK_BACK_HOURS = [2, 48, 8 * 24, 32 * 24, 367 * 24, 9 * 366 * 24]

/**
 * The latest moment, not after `nowMs`, at which the organization was due; 0 if there was none for years. Searched forward, like
 * the queue: backward, the parser finds other moments on days when the clocks change.
 */
export function previousDueMs(organization: string, schedule: Schedule, nowMs: number): number {
  const delayMs = startDelayMs(organization, schedule)
  for (const hours of LOOK_BACK_HOURS) {
    const dueMs = lastBetween(schedule, nowMs - delayMs - hours * HOUR_MS, nowMs - delayMs)
    if (dueMs !== undefined) return dueMs + delayMs
  }
  return 0
}

function lastBetween(schedule: Schedule, fromMs: number, untilMs: number): number | undefined {
  let lastMs: number | undefined
  for (let dueMs = nextAfter(schedule, fromMs); dueMs <= untilMs; dueMs = nextAfter(schedule, dueMs)) lastMs = dueMs
  return lastMs
}

/** The next `count` runs after `nowMs`. */
export function comingRuns(organization: string, schedule: Schedule, nowMs: number, count: number): ComingRun[] {
  const delayMs = startDelayMs(organization, schedule)
  let dueMs = nowMs - delayMs
  return Array.from({ length: count }, () => {
    dueMs = nextAfter(schedule, dueMs)
    return { atMs: dueMs + delayMs, clocksChange: clocksChange(dueMs + delayMs, schedule.timezone) }
  })
}

/** The scheduler's error about a cron line; undefined when the line has future moments. */
export function scheduleProblem(schedule: Schedule, nowMs: number): string | undefined {
  try {
    nextAfter(schedule, nowMs)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** The first moment of the cron line after `fromMs`, without the spread. Throws when there is none. */
export function nextAfter(schedule: Schedule, fromMs: number): number {
  try {
    return parse(schedule, fromMs).next().getTime()
  } catch {
    // Where clocks change by half an hour, the parser fails on that day; it works from another day on.
    return parse(schedule, fromMs + 25 * HOUR_MS)
      .next()
      .getTime()
  }
}

/** A moment in a time zone: `2026-03-29 03:30 GMT+2`. */
export function localTime(atMs: number, timezone: string): string {
  const { year, month, day, hour, minute, timeZoneName } = localParts(atMs, timezone)
  return `${year}-${month}-${day} ${hour}:${minute} ${timeZoneName}`
}

function parse({ cron, timezone }: Schedule, fromMs: number) {
  return CronExpressionParser.parse(cron, { tz: timezone, currentDate: new Date(fromMs) })
}

/** Whether the clocks change on that local day; checks every hour of it. */
function clocksChange(atMs: number, timezone: string): boolean {
  const today = localParts(atMs, timezone)
  const offsets = new Set<string>()
  for (let hour = -26; hour <= 26; hour += 1) {
    const parts = localParts(atMs + hour * HOUR_MS, timezone)
    if (parts.day === today.day && parts.month === today.month) offsets.add(parts.timeZoneName)
  }
  return offsets.size > 1
}

type LocalParts = Record<'year' | 'month' | 'day' | 'hour' | 'minute' | 'timeZoneName', string>

function localParts(atMs: number, timezone: string): LocalParts {
  const found: LocalParts = { year: '', month: '', day: '', hour: '', minute: '', timeZoneName: '' }
  for (const { type, value } of formatOf(timezone).formatToParts(atMs)) {
    if (isWanted(type)) found[type] = value
  }
  return found
}

function isWanted(type: string): type is keyof LocalParts {
  return ['year', 'month', 'day', 'hour', 'minute', 'timeZoneName'].includes(type)
}

const FORMATS = new Map<string, Intl.DateTimeFormat>()

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = FORMATS.get(timeZone)
  if (known !== undefined) return known
  const two = '2-digit'
  const format = new Intl.DateTimeFormat('en', {
    timeZone,
    year: 'numeric',
    month: two,
    day: two,
    hour: two,
    minute: two,
    hourCycle: 'h23',
    timeZoneName: 'shortOffset',
  })
  FORMATS.set(timeZone, format)
  return format
}
