import fc from 'fast-check'
import { expect, test } from 'vitest'
import { comingRuns, previousDueMs } from '../../../jobs/schedule/due-times.ts'
import { seeds } from '../../support/seeds.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const ZONES = Intl.supportedValuesOf('timeZone')
/** Since then no zone has skipped a whole day. */
const FROM_MS = Date.UTC(2012, 0)
const TO_MS = Date.UTC(2036, 0)

/** What the clocks of a zone show, as text that sorts by time: `2026-03-29 03:30`. */
function wallClock(timeZone: string): (atMs: number) => string {
  const two = '2-digit'
  const shown = new Intl.DateTimeFormat('sv-SE', {
    timeZone,
    ...{ year: 'numeric', month: two, day: two, hour: two, minute: two },
  })
  return (atMs) => shown.format(atMs)
}

const minuteOf = (wall: string) => Date.parse(`${wall.replace(' ', 'T')}Z`)

/** A cron line of plain numbers, lists, ranges and steps: whether it names this minute. */
function names(cron: string): (wallMs: number) => boolean {
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = cron.split(' ')
  return (wallMs) => {
    const at = new Date(wallMs)
    const isDay = isNamed(day, at.getUTCDate(), 1, 31)
    const isWeekday = isNamed(weekday, at.getUTCDay(), 0, 6)
    return (
      isNamed(minute, at.getUTCMinutes(), 0, 59) &&
      isNamed(hour, at.getUTCHours(), 0, 23) &&
      isNamed(month, at.getUTCMonth() + 1, 1, 12) &&
      (day === '*' || weekday === '*' ? isDay && isWeekday : isDay || isWeekday)
    )
  }
}

function isNamed(field: string, value: number, low: number, high: number): boolean {
  return field.split(',').some((part) => {
    const [range = '', step = '1'] = part.split('/')
    const [from = 0, to = from] = range === '*' ? [low, high] : range.split('-').map(Number)
    return value >= from && value <= to && (value - from) % Number(step) === 0
  })
}

/** Every due moment of a cron line within some days, found by watching the clock minute by minute. */
function dueByWatching(cron: string, timezone: string, fromMs: number, toMs: number): number[] {
  const shownAt = wallClock(timezone)
  const isNamedBy = names(cron)
  // Such a line goes on through skipped and repeated hours; another one names times of day.
  const isOfHours = /[*/]/.test(cron.split(' ').slice(0, 2).join(''))
  const due: number[] = []
  let latestMs = minuteOf(shownAt(fromMs - 2 * HOUR_MS))
  for (let atMs = fromMs - 2 * HOUR_MS + MINUTE_MS; atMs <= toMs; atMs += MINUTE_MS) {
    const wallMs = minuteOf(shownAt(atMs))
    let isDue = isOfHours && isNamedBy(wallMs)
    for (; latestMs < wallMs; latestMs += MINUTE_MS) isDue ||= !isOfHours && isNamedBy(latestMs + MINUTE_MS)
    if (isDue && atMs >= fromMs) due.push(atMs)
  }
  return due
}

/** The first day, from a day on, on which the clocks of a zone change, as its midnight in UTC; undefined if there is none for a year. */
function nextChange(timezone: string, fromMs: number): number | undefined {
  const shownAt = wallClock(timezone)
  const offset = (atMs: number) => minuteOf(shownAt(atMs)) - atMs
  const before = offset(fromMs)
  for (let dayMs = fromMs; dayMs < fromMs + 366 * DAY_MS; dayMs += DAY_MS)
    if (offset(dayMs + DAY_MS) !== before) return dayMs
  return undefined
}

const zones = fc.constantFrom(...ZONES)
const days = fc.integer({ min: 0, max: (TO_MS - FROM_MS) / DAY_MS }).map((day) => FROM_MS + day * DAY_MS)
const minutes = fc.oneof(
  fc.constantFrom('0', '30', '*', '*/15', '*/7', '5,35'),
  fc.integer({ min: 0, max: 59 }).map(String),
)
const hours = fc.oneof(fc.constantFrom('*', '0', '1-3', '*/2', '22-23'), fc.integer({ min: 0, max: 23 }).map(String))
const someDays = fc.constantFrom('*', '*', '*', '1', '*/2', '28-31', '29')
const someMonths = fc.constantFrom('*', '*', '3,4,9,10,11', '1-12/2')
const weekdays = fc.constantFrom('*', '*', '*', '0', '1-5', '6')
const crons = fc.tuple(minutes, hours, someDays, someMonths, weekdays).map((fields) => fields.join(' '))

/** Both look-ups agree with watching the clock over a day and four hours. */
function expectAsWatched(cron: string, timezone: string, dayMs: number): void {
  const [fromMs, toMs] = [dayMs - 2 * HOUR_MS, dayMs + DAY_MS + 2 * HOUR_MS]
  const schedule = { cron, timezone, spreadMs: 0 }
  const expected = dueByWatching(cron, timezone, fromMs, toMs)
  const found = comingRuns('acme', schedule, fromMs - 1, expected.length + 1)
  const about = `${cron} in ${timezone} around ${new Date(dayMs).toISOString()}`
  const written = (moments: readonly number[]) => moments.map((atMs) => new Date(atMs).toISOString())

  expect(written(found.slice(0, expected.length)), about).toEqual(written(expected))
  expect(found.at(-1), about).toBeGreaterThan(toMs)
  for (const [index, dueMs] of expected.entries()) {
    const until = Math.min((expected[index + 1] ?? toMs + 1) - 1, dueMs + DAY_MS)
    expect(previousDueMs('acme', schedule, dueMs), about).toBe(dueMs)
    expect(previousDueMs('acme', schedule, until), about).toBe(dueMs)
  }
}

test('a cron line is due as by watching the clock of any zone on any day', () => {
  fc.assert(
    fc.property(crons, zones, days, (cron, timezone, dayMs) => expectAsWatched(cron, timezone, dayMs)),
    { numRuns: seeds(60, { least: 4, every: 16 }) },
  )
})

test('on days when the clocks change, a skipped time of day is due at the end of the gap, and a repeated one once', () => {
  fc.assert(
    fc.property(crons, zones, days, (cron, timezone, fromMs) => {
      const dayMs = nextChange(timezone, fromMs)
      fc.pre(dayMs !== undefined)
      if (dayMs !== undefined) expectAsWatched(cron, timezone, dayMs)
    }),
    { numRuns: seeds(120, { every: 12 }) },
  )
})
