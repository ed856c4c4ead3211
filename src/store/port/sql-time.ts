import { UnreadableValue } from './unreadable.ts'

/** Unix milliseconds in the mirror's form: `YYYY-MM-DD HH:MM:SS.SSS` in UTC, which compares with datetime('now'). */
export function sqlTime(unixMs: number): string {
  if (unixMs !== lastWritten.unixMs) {
    lastWritten = { unixMs, text: new Date(unixMs).toISOString().replace('T', ' ').replace('Z', '') }
  }
  return lastWritten.text
}

/** All rows of a transaction have the same time. */
let lastWritten = { unixMs: 0, text: '1970-01-01 00:00:00.000' }

/** A time of the mirror, as Unix milliseconds. Throws UnreadableValue for one that someone wrote in another form. */
export function fromSqlTime(time: unknown): number {
  // A file holds numbers and bytes in any column.
  const text = String(time)
  const unixMs = DATED.test(text) ? Date.parse(`${text.replace(' ', 'T')}Z`) : Number.NaN
  if (Number.isNaN(unixMs)) throw new UnreadableValue(`holds a time that cannot be read (${text.slice(0, 40)})`)
  return unixMs
}

const DATED = /^[+-]?\d{4,6}-\d\d-\d\d /

/** The time in a column of the mirror, as Unix milliseconds; undefined where there is none. */
export function timeIn(column: string | null | undefined): number | undefined {
  return column === null || column === undefined ? undefined : fromSqlTime(column)
}

/** A creation time as PostgreSQL reads it, for which the year 0 is 1 BC. */
export function storableTime(time: string | null): string | null {
  return time?.startsWith('0000') === true ? `0001${time.slice(4)} BC` : time
}

/** A time as it was read, without the fraction of a second. */
export function secondOf(time: string): string {
  return time.slice(0, 'YYYY-MM-DD HH:MM:SS'.length)
}
