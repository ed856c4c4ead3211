import type { RunKind } from '../queue/kinds.ts'
import { CronExpressionParser } from 'cron-parser'
import { createHash } from 'node:crypto'
import type { Config } from '../../src/config/read-config.ts'
import { ConfigError } from '../../src/errors/errors.ts'

/** When an organization is mirrored: cron fields in a time zone, and the time over which starts are spread. */
export type Schedule = CronLine & { spreadMs: number }

type CronLine = { cron: string; timezone: string }

/** A future run. `clocksChange` if the local day of that run is an hour longer or shorter than others. */
export type ComingRun = { atMs: number; clocksChange: boolean }

/** How much later than its cron line an organization starts: always the same, and shorter than the time to the next moment. */
export function startDelayMs(organization: string, { cron, spreadMs }: Pick<Schedule, 'cron' | 'spreadMs'>): number {
  if (spreadMs === 0) return 0
  const share = createHash('sha256').update(organization).digest().readUInt32BE() / 2 ** 32
  return Math.floor((share * Math.min(spreadMs, leastGapMs(cron))) / 1000) * 1000
}

/** The shortest time between two moments of a cron line, by clocks that do not change. */
function leastGapMs(cron: string): number {
  const known = LEAST_GAPS.get(cron)
  if (known !== undefined) return known
  const { hour, minute } = parse(cron).fields
  const minutes = hour.values.flatMap((h) => minute.values.map((m) => h * 60 + m))
  const [first = 0] = minutes
  const gaps = minutes.map((at, index) => (minutes[index + 1] ?? first + MINUTES_OF_DAY) - at)
  const leastMs = Math.min(...gaps) * 60_000
  LEAST_GAPS.set(cron, leastMs)
  return leastMs
}

const LEAST_GAPS = new Map<string, number>()
const MINUTES_OF_DAY = 1440

/** The latest moment, not after `nowMs`, at which the organization was due; 0 if there was none for years. */
export function previousDueMs(organization: string, schedule: Schedule, nowMs: number): number {
  const delayMs = startDelayMs(organization, schedule)
  const { lastMs } = momentsAround(schedule, nowMs - delayMs)
  return lastMs === 0 ? 0 : lastMs + delayMs
}

/** The first moment after `nowMs` at which the organization is due. */
export function nextDueMs(organization: string, schedule: Schedule, nowMs: number): number {
  const delayMs = startDelayMs(organization, schedule)
  return nextAfter(schedule, nowMs - delayMs) + delayMs
}

/** The next `count` runs after `nowMs`. */
export function comingRuns(organization: string, schedule: Schedule, nowMs: number, count: number): ComingRun[] {
  let atMs = nowMs
  return Array.from({ length: count }, () => {
    atMs = nextDueMs(organization, schedule, atMs)
    return runAt(atMs, schedule)
  })
}

/** A run at this moment. */
export function runAt(atMs: number, { timezone }: Pick<Schedule, 'timezone'>): ComingRun {
  return { atMs, clocksChange: clocksChange(atMs, timezone) }
}

/**
 * The first moment of the cron line after `fromMs`, without the spread. Where clocks go forward, the times they skip are due when
 * the gap ends; where they go back, a time they show twice is due once, the first time. Throws when there is none.
 */
export function nextAfter(line: CronLine, fromMs: number): number {
  return momentsAround(line, fromMs).nextMs
}

/** The moments of a cron line around one: the latest until then, 0 if there was none for years, and the first after it. */
function momentsAround({ cron, timezone }: CronLine, atMs: number): { lastMs: number; nextMs: number } {
  const key = `${cron}\n${timezone}`
  const found = FOUND.get(key) ?? []
  const known = found.find(({ lastMs, nextMs }) => lastMs <= atMs && atMs < nextMs)
  if (known !== undefined) return known
  const wallMs = latestWallTimeMs(timezone, atMs)
  const nextMs = momentOf(timezone, parse(cron, wallMs).next().getTime())
  const around = { lastMs: previousOf(cron, wallMs, timezone), nextMs }
  FOUND.set(key, [around, ...found.slice(0, MOST_FOUND - 1)])
  return around
}

function previousOf(cron: string, wallMs: number, timezone: string): number {
  try {
    const before = parse(cron, wallMs + 1).prev()
    return momentOf(timezone, before.getTime())
  } catch {
    return 0
  }
}

/** What was found last of each line, since many organizations ask for the same: the parser takes a tenth of a millisecond. */
const FOUND = new Map<string, { lastMs: number; nextMs: number }[]>()
const MOST_FOUND = 8

/** A moment in a time zone: `2026-03-29 03:30 GMT+2`. */
export function localTime(atMs: number, timezone: string): string {
  const wall = new Date(wallTimeMs(timezone, atMs)).toISOString().slice(0, 16).replace('T', ' ')
  return `${wall} ${offsetName(timezone, atMs)}`
}

/** The moments of a cron line on a clock that never changes. */
function parse(cron: string, fromMs = 0) {
  return CronExpressionParser.parse(withoutRepeats(cron), { tz: 'UTC', currentDate: new Date(fromMs) })
}

/** The same moments, each value of a list named once: the parser refuses `0,7`, which other programs read as Sunday. */
function withoutRepeats(cron: string): string {
  const fields = cron.trim().split(/\s+/)
  const once = fields.map((field, index) => {
    const parts = field.split(',')
    return [...new Set(index === DAY_OF_WEEK ? parts.map((day) => day.replace(/^(7|sun)$/i, '0')) : parts)].join(',')
  })
  return once.join(' ')
}

const DAY_OF_WEEK = 4

/** Whether the clocks change on that local day. */
function clocksChange(atMs: number, timezone: string): boolean {
  const midnightMs = Math.floor(wallTimeMs(timezone, atMs) / DAY_MS) * DAY_MS
  return momentOf(timezone, midnightMs + DAY_MS) - momentOf(timezone, midnightMs) !== DAY_MS
}

const DAY_MS = 86_400_000

/** The schedule of an organization, with the cron line of its quick runs if it has one. */
type WithQuick = Schedule & { quick?: string }

/** When an organization has runs between its nights: their own cron line in the same time zone. Undefined where it has none. */
export function betweenNights({ quick, ...night }: WithQuick): Schedule | undefined {
  return quick === undefined ? undefined : { ...night, cron: quick }
}

/** The schedule of each kind of run that an organization has. */
export function schedulesOf(schedule: WithQuick): [kind: RunKind, schedule: Schedule][] {
  const between = betweenNights(schedule)
  return [['sync', schedule], ...(between === undefined ? [] : [['quick', between] satisfies [RunKind, Schedule]])]
}

/** Throws one ConfigError for all mistakes in the schedules. */
export function checkSchedules(config: Pick<Config, 'organizations' | 'file'>, nowMs: number): void {
  const mistakes = scheduleMistakes(config, nowMs)
  if (mistakes.length > 0) throw new ConfigError(mistakes)
}

/** The cron lines without a future moment. */
export function scheduleMistakes({ organizations, file }: Pick<Config, 'organizations' | 'file'>, nowMs: number) {
  return organizations.flatMap(({ id, schedule }) =>
    (['cron', 'quick'] as const).flatMap((what) => {
      const cron = schedule?.[what]
      if (schedule === undefined || cron === undefined) return []
      try {
        nextAfter({ ...schedule, cron }, nowMs)
        return []
      } catch (error) {
        const problem = error instanceof Error ? error.message : String(error)
        return [{ file, path: `schedule of ${id}`, message: `its ${what} line names no moment (${problem})` }]
      }
    }),
  )
}

/*
 * A wall time is what the clocks of a time zone show, in milliseconds as if they stood in UTC. Where the clocks go forward, some wall times
 * are skipped; where they go back, some are shown twice.
 */

/** The wall time at a moment. */
function wallTimeMs(timezone: string, momentMs: number): number {
  return momentMs + offsetMs(timezone, momentMs)
}

/** The first moment at which the clocks show a wall time; if they skip it, the moment at which they go forward. */
function momentOf(timezone: string, wallMs: number): number {
  const [earliestMs, latestMs] = [wallMs - FURTHEST_MS, wallMs + FURTHEST_MS]
  const [before, after] = [offsetMs(timezone, earliestMs), offsetMs(timezone, latestMs)]
  if (before === after) return wallMs - before
  const changeMs = changeBetween(timezone, earliestMs, latestMs)
  return wallMs - before < changeMs ? wallMs - before : Math.max(changeMs, wallMs - after)
}

/** No clock is further from UTC. */
const FURTHEST_MS = 15 * 3_600_000

/** The latest wall time that the clocks have shown until a moment: later than that of the moment while they show an hour for the second time. */
function latestWallTimeMs(timezone: string, momentMs: number): number {
  const wallMs = wallTimeMs(timezone, momentMs)
  const firstMs = momentOf(timezone, wallMs)
  if (firstMs === momentMs) return wallMs
  return changeBetween(timezone, firstMs, momentMs) + offsetMs(timezone, firstMs) - 1
}

/** The first moment with another offset than `fromMs`, if the offset at `toMs` is another one. */
function changeBetween(timezone: string, fromMs: number, toMs: number): number {
  const before = offsetMs(timezone, fromMs)
  let [lowMs, highMs] = [fromMs, toMs]
  while (highMs - lowMs > 1) {
    const middleMs = Math.floor((lowMs + highMs) / 2)
    if (offsetMs(timezone, middleMs) === before) lowMs = middleMs
    else highMs = middleMs
  }
  return highMs
}

/** Milliseconds by which the clocks are ahead of UTC. */
function offsetMs(timezone: string, momentMs: number): number {
  const [, sign, hours = 0, minutes = 0] = /([+-])(\d+)(?::(\d+))?/.exec(offsetName(timezone, momentMs)) ?? []
  return (sign === '-' ? -60_000 : 60_000) * (Number(hours) * 60 + Number(minutes))
}

/** `GMT`, `GMT+2`, `GMT-3:30`. */
function offsetName(timeZone: string, momentMs: number): string {
  const format = FORMATS.get(timeZone) ?? new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'shortOffset' })
  FORMATS.set(timeZone, format)
  return format.format(momentMs).replace(/^.* |\+0$/g, '')
}

const FORMATS = new Map<string, Intl.DateTimeFormat>()
