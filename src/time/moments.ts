/**
 * `created_at` in UTC as `YYYY-MM-DD HH:MM:SS`, or null when it is not a date. Reads ISO 8601, with a `T` or a space. Without a
 * zone it is taken as UTC. Fractions of a second are cut. The year 0 is no year to Python, Java, .NET and most databases, and in a reader's
 * time zone the first and the last day of their years fall outside of these: such readers would fail at the whole table.
 */
export function utcTime(text: string): string | null {
  const utc = fourDigitTime(text)
  return utc === null || utc < SECOND_DAY || utc > LAST_DAY ? null : utc
}

const SECOND_DAY = '0001-01-02'
const LAST_DAY = '9999-12-31'

/** The same with the year 0, which 4 digits can hold. */
function fourDigitTime(text: string): string | null {
  if (isPlainUtc(text)) return `${text.slice(0, 10)} ${text.slice(11, 19)}`
  const match = DATE_TIME.exec(text)
  if (match === null) return null
  const [, year = '', month = '', day = '', hour = '00', minute = '00', second = '00', zone = 'Z'] = match
  if (!isDate(Number(year), Number(month), Number(day)) || hour > '23' || minute > '59' || second > '59') return null
  const local = `${year}-${month}-${day} ${hour}:${minute}:${second}`
  const ahead = minutesAhead(zone)
  if (ahead === undefined) return null
  return ahead === 0 ? local : shifted(local, -ahead)
}

/**
 * A moment in UTC as `YYYY-MM-DD HH:MM:SS.SSS`, or null when it is none. Reads what `utcTime` reads, with ` UTC` for a zone too, and the first
 * and the last day.
 * Anything finer than a millisecond is cut.
 */
export function utcMoment(text: string): string | null {
  const written = text.trim().replace(/ ?UTC$/i, 'Z')
  const seconds = fourDigitTime(written)
  const [, fraction = ''] = /:\d\d[.,](\d{1,3})/.exec(written) ?? []
  return seconds === null || seconds.startsWith('0000') ? null : `${seconds}.${fraction.padEnd(3, '0')}`
}

/**
 * The instant of a `created_at` as text that sorts by time, the same for the same instant whatever form it was sent in; undefined when
 * unreadable. Without a zone it is UTC. Digits beyond nanoseconds are dropped: a coarser instant still never sorts against time.
 */
export function sortableInstant(createdAt: string | undefined): string | undefined {
  const second = createdAt === undefined ? null : utcTime(createdAt)
  const [, fraction = ''] = (createdAt !== undefined && createdAt.length > 20 && FRACTION.exec(createdAt)) || []
  return second === null ? undefined : `${second} ${fraction.replace(/0+$/, '')}`
}

const FRACTION = /:\d\d[.,](\d{1,9})/

/**
 * Whether a text is a valid second in UTC, in the form that most services send, on any day except 29 February. A fast check
 * without parsing.
 */
function isPlainUtc(text: string): boolean {
  return PLAIN_UTC.test(text)
}

const PLAIN_UTC =
  /^\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.0+)?Z$/
const DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s*(Z|z|[+-]\d\d(?::?\d\d)?)?)?$/

/** How far a zone is ahead of UTC, in minutes; undefined if it is not a zone. */
function minutesAhead(zone: string): number | undefined {
  if (zone === 'Z' || zone === 'z') return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = zone.length > 3 ? Number(zone.slice(-2)) : 0
  if (hours > 23 || minutes > 59) return undefined
  return (hours * 60 + minutes) * (zone.startsWith('-') ? -1 : 1)
}

function shifted(local: string, minutes: number): string | null {
  const instant = new Date(Date.parse(`${local.replace(' ', 'T')}Z`) + minutes * 60_000)
  const year = instant.getUTCFullYear()
  return year >= 0 && year <= 9999 ? instant.toISOString().slice(0, 19).replace('T', ' ') : null
}

/** Whether the day exists in the Gregorian calendar. Much cheaper than using Date, for a million rows. */
function isDate(year: number, month: number, day: number): boolean {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = month === 2 ? (leap ? 29 : 28) : month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
  return month >= 1 && month <= 12 && day >= 1 && day <= days
}

/** Unix milliseconds as ISO 8601; null for none. */
export function isoTime(unixMs: number): string
export function isoTime(unixMs: number | undefined): string | null
export function isoTime(unixMs: number | undefined): string | null {
  return unixMs === undefined ? null : new Date(unixMs).toISOString()
}

/** A time in UTC that is written as the mirror writes them, as ISO 8601. */
export function isoOf(time: string): string {
  return `${time.replace(' ', 'T')}Z`
}

/** The largest harmless difference between clocks, in milliseconds. */
export const LARGEST_STEP_MS = 2 * 3_600_000

/** Whether a moment lies so far after `nowMs` that a wrong clock has dated it. Both in Unix milliseconds. */
export function isFarAhead(atMs: number, nowMs: number): boolean {
  return atMs > nowMs + LARGEST_STEP_MS
}
