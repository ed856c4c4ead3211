import { createHash } from 'node:crypto'
import { CronExpressionParser } from 'cron-parser'

/** When an organization is to be mirrored: cron fields meant in a time zone, and the time over which starts are spread. */
export type Schedule = { cron: string; timezone: string; spreadMs: number }

/** A run to come. `clocksChange` where the local day of that run has an hour more or less than others. */
export type ComingRun = { atMs: number; clocksChange: boolean }

/** How long after the moment its cron line names an organization starts: always the same, from 0 up to its spread. */
export function startDelayMs(organization: string, { spreadMs }: Pick<Schedule, 'spreadMs'>): number {
  const share = createHash('sha256').update(organization).digest().readUInt32BE() / 2 ** 32
  return Math.floor((share * spreadMs) / 1000) * 1000
}

const HOUR_MS = 3_600_000

/** How far to look back for the latest moment a line named: most name one every day, some only in leap years. */
const LOOK_BACK_HOURS = [2, 48, 8 * 24, 32 * 24, 367 * 24, 9 * 366 * 24]

/**
 * The latest moment, not after `nowMs`, at which the organization was due; 0 where there was none for years. Found by going
 * forward, as the queue does: backward, the parser has other moments on days when the clocks change.
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

/** What is wrong with a cron line, as the scheduler itself has it; undefined when it names moments to come. */
export function scheduleProblem(schedule: Schedule, nowMs: number): string | undefined {
  try {
    nextAfter(schedule, nowMs)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** The first moment after `fromMs` that the line names, without the spread. Throws when it names none. */
export function nextAfter(schedule: Schedule, fromMs: number): number {
  try {
    return parse(schedule, fromMs).next().getTime()
  } catch {
    // Where clocks change by half an hour, the parser finds no way over that day; another day is no trouble.
    return parse(schedule, fromMs + 25 * HOUR_MS)
      .next()
      .getTime()
  }
}

/** A moment on the clocks of a time zone: `2026-03-29 03:30 GMT+2`. */
export function localTime(atMs: number, timezone: string): string {
  const { year, month, day, hour, minute, timeZoneName } = localParts(atMs, timezone)
  return `${year}-${month}-${day} ${hour}:${minute} ${timeZoneName}`
}

function parse({ cron, timezone }: Schedule, fromMs: number) {
  return CronExpressionParser.parse(cron, { tz: timezone, currentDate: new Date(fromMs) })
}

/** Looks at every hour of the local day. */
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
