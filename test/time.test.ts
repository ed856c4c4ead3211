import { expect, test } from 'vitest'
import { durationMs } from '../src/time/durations.ts'
import { duration } from '../src/text/wording.ts'
import { sortableInstant, utcMoment, utcTime } from '../src/time/moments.ts'

test.each([
  ['Laravel', '2024-01-02T03:04:05.000000Z', '2024-01-02 03:04:05'],
  ['no zone, UTC is meant', '2024-01-02T03:04:05', '2024-01-02 03:04:05'],
  ['milliseconds', '2024-01-02T03:04:05.999Z', '2024-01-02 03:04:05'],
  ['no seconds', '2024-01-02T03:04Z', '2024-01-02 03:04:00'],
  ['a day alone', '2024-01-02', '2024-01-02 00:00:00'],
  ['east of Greenwich, the day before', '2024-01-01T01:30:00+02:00', '2023-12-31 23:30:00'],
  ['west of Greenwich, the year after', '2023-12-31T23:30:00-05:00', '2024-01-01 04:30:00'],
  ['three quarters of an hour, without a colon', '2024-01-02T03:04:05+0545', '2024-01-01 21:19:05'],
  ['a space before the zone', '2024-01-02 03:04:05 +0100', '2024-01-02 02:04:05'],
  ['into a leap day', '2024-03-01T00:30:00+01:00', '2024-02-29 23:30:00'],
  ['the first second that every time zone has', '0001-01-02T00:00:00Z', '0001-01-02 00:00:00'],
  ['the last second that every time zone has', '9999-12-30T23:59:59Z', '9999-12-30 23:59:59'],
  ['nothing', '', null],
  ['hour 24', '2024-01-02T24:00:00Z', null],
  ['minute 60', '2024-01-02T03:60:00Z', null],
  ['a leap second', '2016-12-31T23:59:60Z', null],
  ['a zone of more than a day', '2024-01-02T03:04:05+99:00', null],
  ['a zone of 60 minutes', '2024-01-02T03:04:05+01:60', null],
  ['a named zone', '2024-01-02T03:04:05 Europe/Paris', null],
  ['a second line', '2024-01-02\n2024-01-03', null],
  ['digits of another script', '٢٠٢٤-٠١-٠٢', null],
  ['in the year 0', '0000-12-31T23:59:59Z', null],
  ['in the year 0 in a time zone of a reader', '0001-01-01T23:59:59Z', null],
  ['after the year 9999 in a time zone of a reader', '9999-12-31T00:00:00Z', null],
  ['in the year 0 in UTC alone', '0001-01-01T00:30:00+01:00', null],
])('created_at is read as UTC, and what is no date is never guessed: %s', (_, text, utc) => {
  expect(utcTime(text)).toBe(utc)
})

test.each([
  ['2024-01-02T03:04:05Z', '2024-01-02 03:04:05 '],
  ['2024-01-02T03:04:05,5 z', '2024-01-02 03:04:05 5'],
  ['2024-01-02T03:04:05.250+01:30', '2024-01-02 01:34:05 25'],
  ['2024-01-02T03:04:05.000Z', '2024-01-02 03:04:05 '],
  ['2024-01-02T03:04:05.1234567899Z', '2024-01-02 03:04:05 123456789'],
  ['yesterday', undefined],
  [undefined, undefined],
])('the instant of %s sorts as %s', (createdAt, instant) => {
  expect(sortableInstant(createdAt)).toBe(instant)
})

test('every day the calendar has can be read in the plainest form, and no other', () => {
  for (let year = 1999; year <= 2101; year += 1) {
    for (let month = 0; month <= 13; month += 1) {
      for (let day = 0; day <= 32; day += 1) {
        const [mm, dd] = [`${month}`.padStart(2, '0'), `${day}`.padStart(2, '0')]
        const text = `${year}-${mm}-${dd}T00:00:00Z`
        const date = new Date(Date.UTC(year, month - 1, day))
        const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day
        if ((utcTime(text) === `${year}-${mm}-${dd} 00:00:00`) !== exists)
          throw new Error(`${text}: ${exists ? 'refused' : 'taken'}`)
      }
    }
  }
})

test('a duration is shown in the unit that it is rounded to', () => {
  const shown = { 999.4: '999 ms', 999.6: '1.0 s', 9940: '9.9 s', 9960: '10 s', 59_600: '1 min', 3_599_600: '1 h' }
  for (const [ms, text] of Object.entries(shown)) expect(duration(Number(ms))).toBe(text)
})

test('a duration is a number and a unit, read to the millisecond, and nothing else is one', () => {
  const durations = { '500ms': 500, '30s': 30_000, '6h': 21_600_000, '1d': 86_400_000, '1.5h': 5_400_000, '0.001s': 1 }
  for (const [text, ms] of Object.entries(durations)) expect(durationMs(text), text).toBe(ms)
  for (const text of ['', '5', 's', '-1s', '1 s', '1w', '1h30m', '0x10s'])
    expect(durationMs(text), text).toBeUndefined()
})

test.each([
  ['2026-03-01', '2026-03-01 00:00:00.000'],
  ['2026-03-01 14:30', '2026-03-01 14:30:00.000'],
  ['2026-03-01T00:30:00,25+01:00', '2026-02-28 23:30:00.250'],
  [' 2026-03-01T14:30:00-0800 ', '2026-03-01 22:30:00.000'],
  ['2026-02-30', null],
  ['yesterday', null],
  ['', null],
])('the time %j is read as %j', (text, moment) => {
  expect(utcMoment(text)).toBe(moment)
})
