/** A creation time as PostgreSQL reads it, for which the year 0 is 1 BC. */
export function storableTime(time: string | null): string | null {
  return time?.startsWith('0000') === true ? `0001${time.slice(4)} BC` : time
}

/** A time as it was read, without the fraction of a second. */
export function secondOf(time: string): string {
  return time.slice(0, 'YYYY-MM-DD HH:MM:SS'.length)
}
