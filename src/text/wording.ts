/** A duration for people: `850 ms`, `12 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`. */
export function duration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return ms < 9950 ? `${(ms / 1000).toFixed(1)} s` : `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return parts(minutes, 'min', seconds % 60, 's')
  const hours = Math.floor(minutes / 60)
  if (hours < 48) return parts(hours, 'h', minutes % 60, 'min')
  return parts(Math.floor(hours / 24), 'd', hours % 24, 'h')
}

/** A whole number for people, its digits in threes: `2,500`. `toLocaleString` takes 10 ms to set up when it is first called. */
export function grouped(number: number): string {
  return String(number).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
}

/** A number with its noun: `1 page`, `2,500 pages`. */
export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${grouped(number)} ${number === 1 ? noun : plural}`
}

/** A moment for people, in UTC: `2026-01-31 02:00 UTC`. */
export function moment(unixMs: number): string {
  return `${new Date(unixMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** The same to the second, for tables that name the time zone: `2026-01-31 02:00:00`. */
export function second(unixMs: number): string {
  return new Date(unixMs).toISOString().slice(0, 19).replace('T', ' ')
}

function parts(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`
}

/** The names for a message: the first 20 of them. */
export function listedNames(names: readonly string[]): string {
  return names.slice(0, MOST).join(', ') + (names.length > MOST ? ', …' : '')
}

const MOST = 20

/** How the clock of a service differs from that of this machine, by so much ahead of it. */
export function clockWords(offsetMs: number | undefined): string {
  if (offsetMs === undefined) return 'clock unknown'
  if (Math.abs(offsetMs) < 2000) return 'clocks agree'
  return `its clock is ${duration(Math.abs(offsetMs))} ${offsetMs > 0 ? 'ahead of' : 'behind'} ours`
}
