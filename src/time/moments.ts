/**
 * `created_at` in UTC as `YYYY-MM-DD HH:MM:SS`, or null when it is no date in ISO 8601; UTC without a zone, fractions cut. Python, Java, .NET and
 * most databases lack the year 0, and in a reader's time zone the first and last day of their years fall outside: it would fail at the whole table.
 */
export function utcTime(text: string): string | null {
  const utc = fourDigitTime(text)
  return utc === null || utc < SECOND_DAY || utc > LAST_DAY ? null : utc
}

const SECOND_DAY = '0001-01-02'
const LAST_DAY = '9999-12-31'

/** The same with the year 0, which 4 digits can hold. */
function fourDigitTime(text: string): string | null {
  // The form of most services, on any day except 29 February, needs no parsing.
  if (PLAIN_UTC.test(text)) return `${text.slice(0, 10)} ${text.slice(11, 19)}`
  const [, date, hour = '00', minute = '00', second = '00', zone = 'Z'] = DATE_TIME.exec(text) ?? []
  const ahead = minutesAhead(zone)
  if (date === undefined || ahead === undefined) return null
  const local = `${date}T${hour}:${minute}:${second}`
  const unixMs = Date.parse(`${local}Z`)
  // The parser takes 30 February for 1 March, and 24:00 for the day after.
  if (Number.isNaN(unixMs) || !new Date(unixMs).toISOString().startsWith(local)) return null
  const utc = new Date(unixMs - ahead * 60_000).toISOString()
  return /^\d{4}-/.test(utc) ? utc.slice(0, 19).replace('T', ' ') : null
}

/** A moment in UTC as `YYYY-MM-DD HH:MM:SS.SSS`, finer digits cut; null for none. Reads what `utcTime` reads, any day, and ` UTC` for a zone. */
export function utcMoment(text: string): string | null {
  const written = text.trim().replace(/ ?UTC$/i, 'Z')
  const seconds = fourDigitTime(written)
  const [, fraction = ''] = /:\d\d[.,](\d{1,3})/.exec(written) ?? []
  return seconds === null || seconds.startsWith('0000') ? null : `${seconds}.${fraction.padEnd(3, '0')}`
}

/** The instant of a `created_at` as text that sorts by time, whatever form it was sent in; undefined when unreadable. Cut to nanoseconds. */
export function sortableInstant(createdAt: string | undefined): string | undefined {
  const second = createdAt === undefined ? null : utcTime(createdAt)
  const [, fraction = ''] = (createdAt !== undefined && createdAt.length > 20 && FRACTION.exec(createdAt)) || []
  return second === null ? undefined : `${second} ${fraction.replace(/0+$/, '')}`
}

const FRACTION = /:\d\d[.,](\d{1,9})/

const PLAIN_UTC =
  /^\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.0+)?Z$/
const DATE_TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s*(Z|z|[+-]\d\d(?::?\d\d)?)?)?$/

/** How far a zone is ahead of UTC, in minutes; undefined if it is not a zone. */
function minutesAhead(zone: string): number | undefined {
  if (zone === 'Z' || zone === 'z') return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = zone.length > 3 ? Number(zone.slice(-2)) : 0
  if (hours > 23 || minutes > 59) return undefined
  return (hours * 60 + minutes) * (zone.startsWith('-') ? -1 : 1)
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

/** A moment in a time zone: `2026-03-29 03:30 GMT+2`. */
export function localTime(atMs: number, timeZone: string): string {
  const format = FORMATS.get(timeZone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone, ...LOCAL })
  FORMATS.set(timeZone, format)
  return format.format(atMs).replace('\u2212', '-').replace(/\+0$/, '')
}

const FORMATS = new Map<string, Intl.DateTimeFormat>()
const TWO = '2-digit'
const LOCAL = { year: 'numeric', month: TWO, day: TWO, hour: TWO, minute: TWO, timeZoneName: 'shortOffset' } as const
