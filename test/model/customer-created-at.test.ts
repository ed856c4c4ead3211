import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { utcTime } from '../../src/time/moments.ts'

test.each([
  ['Laravel', '2024-01-02T03:04:05.000000Z', '2024-01-02 03:04:05'],
  ['an offset of nothing', '2024-01-02T03:04:05+00:00', '2024-01-02 03:04:05'],
  ['a database', '2024-01-02 03:04:05', '2024-01-02 03:04:05'],
  ['no zone, UTC is meant', '2024-01-02T03:04:05', '2024-01-02 03:04:05'],
  ['lower-case z', '2024-01-02T03:04:05z', '2024-01-02 03:04:05'],
  ['milliseconds', '2024-01-02T03:04:05.999Z', '2024-01-02 03:04:05'],
  ['a comma before the fraction', '2024-01-02T03:04:05,5Z', '2024-01-02 03:04:05'],
  ['nanoseconds', '2024-01-02T03:04:05.123456789+00:00', '2024-01-02 03:04:05'],
  ['no seconds', '2024-01-02T03:04Z', '2024-01-02 03:04:00'],
  ['a day alone', '2024-01-02', '2024-01-02 00:00:00'],
  ['east of Greenwich, the day before', '2024-01-01T01:30:00+02:00', '2023-12-31 23:30:00'],
  ['west of Greenwich, the year after', '2023-12-31T23:30:00-05:00', '2024-01-01 04:30:00'],
  ['half an hour', '2024-01-02T03:04:05+05:30', '2024-01-01 21:34:05'],
  ['three quarters of an hour, without a colon', '2024-01-02T03:04:05+0545', '2024-01-01 21:19:05'],
  ['whole hours alone', '2024-01-02T03:04:05-03', '2024-01-02 06:04:05'],
  ['a space before the zone', '2024-01-02 03:04:05 +0100', '2024-01-02 02:04:05'],
  ['minus nothing', '2024-01-02T03:04:05-00:00', '2024-01-02 03:04:05'],
  ['a leap day', '2024-02-29T12:00:00Z', '2024-02-29 12:00:00'],
  ['a leap day of a fourth century', '2000-02-29T12:00:00Z', '2000-02-29 12:00:00'],
  ['into a leap day', '2024-03-01T00:30:00+01:00', '2024-02-29 23:30:00'],
  ['past a leap day that is none', '2023-03-01T00:30:00+01:00', '2023-02-28 23:30:00'],
  ['the first second that every time zone has', '0001-01-02T00:00:00Z', '0001-01-02 00:00:00'],
  ['the last second that every time zone has', '9999-12-30T23:59:59Z', '9999-12-30 23:59:59'],
])('created_at is read as UTC: %s', (_, text, utc) => {
  expect(utcTime(text)).toBe(utc)
})

test.each([
  ['nothing', ''],
  ['words', 'yesterday'],
  ['Unix seconds', '1704164645'],
  ['a leap day of a common year', '2023-02-29T00:00:00Z'],
  ['a leap day of a century', '1900-02-29'],
  ['the 30th of February', '2024-02-30'],
  ['the 31st of April', '2024-04-31'],
  ['month 13', '2024-13-01'],
  ['month 0', '2024-00-10'],
  ['day 0', '2024-01-00'],
  ['hour 24', '2024-01-02T24:00:00Z'],
  ['minute 60', '2024-01-02T03:60:00Z'],
  ['a leap second', '2016-12-31T23:59:60Z'],
  ['a zone of more than a day', '2024-01-02T03:04:05+99:00'],
  ['a zone of 60 minutes', '2024-01-02T03:04:05+01:60'],
  ['a zone of one digit', '2024-01-02T03:04:05+1'],
  ['a named zone', '2024-01-02T03:04:05 Europe/Paris'],
  ['MySQL for never', '0000-00-00 00:00:00'],
  ['two digits for the year', '24-01-02'],
  ['American order', '01/02/2024'],
  ['no hyphens', '20240102T030405Z'],
  ['text around it', ' 2024-01-02 '],
  ['a second line', '2024-01-02\n2024-01-03'],
  ['digits of another script', '٢٠٢٤-٠١-٠٢'],
  ['in the year 0', '0000-12-31T23:59:59Z'],
  ['a leap day in the year 0', '0000-02-29'],
  ['in the year 0 in a time zone of a reader', '0001-01-01T23:59:59Z'],
  ['after the year 9999 in a time zone of a reader', '9999-12-31T00:00:00Z'],
  ['in the year 0 in UTC alone', '0001-01-01T00:30:00+01:00'],
  ['before the year 0', '0000-01-01T00:30:00+01:00'],
  ['after the year 9999', '9999-12-31T23:30:00-01:00'],
])('created_at that is not a date is never guessed: %s', (_, text) => {
  expect(utcTime(text)).toBeNull()
})

test('any instant in any zone reads as the same second in UTC', () => {
  const instant = fc.date({
    min: new Date('0001-01-02T00:00:00Z'),
    max: new Date('9998-12-31T00:00:00Z'),
    noInvalidDate: true,
  })
  fc.assert(
    fc.property(instant, fc.integer({ min: -14 * 60, max: 14 * 60 }), (date, offsetMinutes) => {
      const local = new Date(date.getTime() + offsetMinutes * 60_000).toISOString().slice(0, -1)
      const hours = String(Math.floor(Math.abs(offsetMinutes) / 60)).padStart(2, '0')
      const minutes = String(Math.abs(offsetMinutes) % 60).padStart(2, '0')

      expect(utcTime(`${local}${offsetMinutes < 0 ? '-' : '+'}${hours}:${minutes}`)).toBe(
        date.toISOString().slice(0, 19).replace('T', ' '),
      )
    }),
  )
})

test('no text at all makes reading a date fail', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9T:Z+. -]{8,25}$/)), (text) => {
      const utc = utcTime(text)

      expect(utc === null || /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(utc)).toBe(true)
    }),
  )
})
