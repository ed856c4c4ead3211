/** Unix milliseconds as the mirror writes times: `YYYY-MM-DD HH:MM:SS.SSS` in UTC, which compares with datetime('now'). */
export function sqlTime(unixMs: number): string {
  return new Date(unixMs).toISOString().replace('T', ' ').replace('Z', '')
}

/** A time the mirror wrote, as Unix milliseconds. */
export function fromSqlTime(time: string): number {
  return Date.parse(`${time.replace(' ', 'T')}Z`)
}
