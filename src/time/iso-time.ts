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
