/** A creation time as PostgreSQL reads it, for which the year 0 is 1 BC. */
export function storableTime(time: string | null): string | null {
  return time?.startsWith('0000') === true ? `0001${time.slice(4)} BC` : time
}

/** A time that PostgreSQL wrote, as `YYYY-MM-DD HH:MM:SS`. */
export function secondOf(time: string): string {
  const second = time.slice(0, 'YYYY-MM-DD HH:MM:SS'.length)
  return time.endsWith(' BC') ? `0000${second.slice(4)}` : second
}
