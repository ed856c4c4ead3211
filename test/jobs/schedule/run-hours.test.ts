import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { comingRuns, neverOpens, previousDueMs } from '../../../jobs/schedule/due-times.ts'
import { checkSchedules } from '../../../jobs/schedule/reconcile.ts'
import { closesAt, isOpenAt, latestOpen, opensAfter, opensAtSome } from '../../../jobs/schedule/run-hours.ts'
import { acme, configOf } from '../../config/configuration-folder.ts'
import { seeds } from '../../support/seeds.ts'

/** Clocks that change at two, at midnight, by half an hour, by a day, and never. */
const ZONES = [
  ...['Europe/Paris', 'America/New_York', 'Africa/Cairo', 'America/Santiago', 'America/Havana', 'Asia/Beirut'],
  ...['Australia/Lord_Howe', 'Pacific/Apia', 'Africa/Casablanca', 'Asia/Kathmandu', 'UTC'],
]
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

const hours = (from: string, to: string) => ({ fromMinute: minuteOf(from), toMinute: minuteOf(to) })
const minuteOf = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3))

describe('hours in which runs may start', () => {
  const night = { timezone: 'Europe/Paris', window: hours('22:00', '06:00') }

  test.each([
    ['before they begin', '2026-01-10T20:59:59.999Z', false],
    ['at their beginning', '2026-01-10T21:00:00Z', true],
    ['after midnight', '2026-01-11T03:00:00Z', true],
    ['at their end', '2026-01-11T05:00:00Z', false],
    ['by day', '2026-01-11T12:00:00Z', false],
    ['at their end in summer', '2026-07-11T04:00:00Z', false],
  ])('%s', (_when, at, isOpen) => {
    expect(isOpenAt(night, Date.parse(at))).toBe(isOpen)
  })

  test.each([
    ['an ordinary night', '22:00', '06:00', '2026-01-10T23:00Z', '2026-01-10T21:00Z', '2026-01-11T05:00Z'],
    ['the night of a skipped hour', '22:00', '06:00', '2026-03-29T00:30Z', '2026-03-28T21:00Z', '2026-03-29T04:00Z'],
    [
      'the night of an hour shown twice',
      '22:00',
      '06:00',
      '2026-10-25T00:30Z',
      '2026-10-24T20:00Z',
      '2026-10-25T05:00Z',
    ],
    ['an hour shown twice', '02:00', '03:00', '2026-10-25T01:30Z', '2026-10-25T00:00Z', '2026-10-25T02:00Z'],
    ['a skipped hour', '02:00', '03:00', '2026-03-29T01:30Z', '2026-03-29T01:00Z', '2026-03-29T02:00Z'],
    [
      'hours that begin in a skipped one',
      '02:30',
      '05:00',
      '2026-03-29T01:00Z',
      '2026-03-29T01:00Z',
      '2026-03-29T03:00Z',
    ],
  ])('%s', (_when, from, to, inside, fromAt, toAt) => {
    const span = { timezone: 'Europe/Paris', window: hours(from, to) }
    const [insideMs = 0, fromMs = 0, toMs = 0] = [inside, fromAt, toAt].map((text) => Date.parse(text))

    expect(isOpenAt(span, insideMs)).toBe(true)
    expect(closesAt(span, insideMs)).toBe(toMs)
    expect(opensAfter(span, fromMs - 1)).toBe(fromMs)
    expect(latestOpen(span, toMs)).toBe(toMs - 1)
  })
})

test.each([
  ['22:00', '06:00', 22 * 60, true],
  ['22:00', '06:00', 22 * 60 - 1, false],
  ['22:00', '06:00', 6 * 60 - 1, true],
  ['22:00', '06:00', 6 * 60, false],
  ['02:00', '03:00', 2 * 60, true],
  ['02:00', '03:00', 3 * 60, false],
])('a window from %s to %s opens at minute %i of a day: %s', (from, to, minute, expected) => {
  expect(opensAtSome(hours(from, to), [minute])).toBe(expected)
})

const aMoment = fc.integer({ min: Date.UTC(2012, 0), max: Date.UTC(2034, 0) })
const aWindow = fc
  .tuple(fc.integer({ min: 0, max: 1439 }), fc.integer({ min: 1, max: 1439 }))
  .map(([fromMinute, length]) => ({ fromMinute, toMinute: (fromMinute + length) % 1440 || 1440 }))
const aZone = fc.constantFrom(...ZONES)

test('the hours open and close in turn, wherever clocks change', () => {
  fc.assert(
    fc.property(aZone, aWindow, aMoment, (timezone, window, atMs) => {
      const night = { timezone, window }
      const opensMs = opensAfter(night, atMs) ?? Number.NaN
      const closed = latestOpen(night, atMs)

      expect(isOpenAt(night, opensMs)).toBe(true)
      expect(opensMs - atMs).toBeLessThan(2.2 * DAY_MS)
      expect(isOpenAt(night, closed)).toBe(true)
      expect(closed === atMs).toBe(isOpenAt(night, atMs))
      expect(atMs - closed).toBeLessThan(2.2 * DAY_MS)
      const closesMs = closesAt(night, opensMs) ?? Number.NaN
      expect(isOpenAt(night, closesMs - 1)).toBe(true)
      expect(closesMs).toBeGreaterThan(opensMs)
    }),
    { numRuns: seeds(1000, { every: 40 }), seed: 17 },
  )
})

test('due are the moments of the cron line that lie inside the hours, and no others', () => {
  const aCron = fc.constantFrom('0 2 * * *', '*/15 * * * *', '30 */5 * * *', '0 21,23 * * 1-5', '10 4 1 * *')
  fc.assert(
    fc.property(
      aZone,
      aWindow,
      aCron,
      fc.integer({ min: 0, max: 7200 }),
      aMoment,
      (timezone, window, cron, seconds, atMs) => {
        const spread = { cron, timezone, spreadMs: seconds * 1000 }
        fc.pre(!neverOpens('acme', { ...spread, window }))
        const all = comingRuns('acme', spread, atMs, 60).map((run) => run.atMs)
        const inside = all.filter((startMs) => isOpenAt({ timezone, window }, startMs)).slice(0, 5)
        const due = comingRuns('acme', { ...spread, window }, atMs, 5).map((run) => run.atMs)

        expect(due.slice(0, inside.length)).toEqual(inside)
        for (const dueMs of due) expect(previousDueMs('acme', { ...spread, window }, dueMs)).toBe(dueMs)
        for (const [index, dueMs] of due.entries())
          expect(previousDueMs('acme', { ...spread, window }, (due[index + 1] ?? dueMs + MINUTE_MS) - 1)).toBe(dueMs)
      },
    ),
    { numRuns: seeds(60), seed: 17 },
  )
})

describe('a line outside its hours', () => {
  const shared = (rest: string) => `schedule: { timezone: Europe/Paris, window: "22:00-06:00", ${rest} }\n${acme()}`

  test.each([
    [
      'a night by day',
      'cron: "0 12 * * *"',
      'its cron line never falls inside the window 22:00-06:00 (Europe/Paris), so that no run would ever start; change one of the two',
    ],
    ['a night at their end', 'cron: "0 6 * * *"', 'its cron line never falls inside the window 22:00-06:00'],
    [
      'quick runs by day',
      'cron: "0 2 * * *", quick: "*/15 9-17 * * *"',
      'its quick line never falls inside the window',
    ],
    [
      'starts spread out of them',
      'cron: "59 5 * * *", spread: 1h',
      'its cron line, 30 min 30 s later by its spread, never falls inside',
    ],
  ])('%s is a mistake', async (_what, rest, message) => {
    const config = await configOf(shared(rest))

    expect(() => checkSchedules(config, Date.UTC(2026, 10, 22))).toThrow(`schedule of acme: ${message}`)
  })

  test.each(['cron: "0 22 * * *"', 'cron: "0 12,23 * * *", quick: "*/15 * * * *"', 'cron: "59 5 * * *"'])(
    '%s is none',
    async (rest) => {
      const config = await configOf(shared(rest))

      expect(() => checkSchedules(config, Date.UTC(2026, 10, 22))).not.toThrow()
    },
  )
})
