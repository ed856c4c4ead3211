/** Unix milliseconds in the mirror's form: `YYYY-MM-DD HH:MM:SS.SSS` in UTC, which compares with datetime('now'). */
export function sqlTime(unixMs: number): string {
  if (unixMs !== lastWritten.unixMs) {
    lastWritten = { unixMs, text: new Date(unixMs).toISOString().replace('T', ' ').replace('Z', '') }
  }
  return lastWritten.text
}

/** All rows of a transaction have the same time. */
let lastWritten = { unixMs: 0, text: '1970-01-01 00:00:00.000' }

/** A time of the mirror, as Unix milliseconds. */
export function fromSqlTime(time: string): number {
  return Date.parse(`${time.replace(' ', 'T')}Z`)
}

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
