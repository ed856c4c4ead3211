/**
 * The wall clock of a time zone. A wall time is what its clocks show, in milliseconds as if they stood in UTC. Where the clocks go
 * forward, some wall times are skipped; where they go back, some are shown twice.
 */
export class WallClock {
  readonly #format: Intl.DateTimeFormat

  constructor(timezone: string) {
    this.#format = formatOf(timezone)
  }

  /** The wall time at a moment. */
  at(momentMs: number): number {
    return momentMs + this.#offsetMs(momentMs)
  }

  /** The first moment at which the clocks show a wall time; if they skip it, the moment at which they go forward. */
  momentOf(wallMs: number): number {
    const [earliestMs, latestMs] = [wallMs - FURTHEST_MS, wallMs + FURTHEST_MS]
    const [before, after] = [this.#offsetMs(earliestMs), this.#offsetMs(latestMs)]
    if (before === after) return wallMs - before
    const changeMs = this.#changeBetween(earliestMs, latestMs)
    if (wallMs - before < changeMs) return wallMs - before
    return Math.max(changeMs, wallMs - after)
  }

  /** The latest wall time that the clocks have shown until a moment: later than `at` while they show an hour for the second time. */
  latestAt(momentMs: number): number {
    const wallMs = this.at(momentMs)
    const firstMs = this.momentOf(wallMs)
    if (firstMs === momentMs) return wallMs
    const changeMs = this.#changeBetween(firstMs, momentMs)
    return changeMs + this.#offsetMs(firstMs) - 1
  }

  /** The first moment with another offset than `fromMs`, if the offset at `toMs` is another one. */
  #changeBetween(fromMs: number, toMs: number): number {
    const before = this.#offsetMs(fromMs)
    let [lowMs, highMs] = [fromMs, toMs]
    while (highMs - lowMs > 1) {
      const middleMs = Math.floor((lowMs + highMs) / 2)
      if (this.#offsetMs(middleMs) === before) lowMs = middleMs
      else highMs = middleMs
    }
    return highMs
  }

  /** Milliseconds by which the clocks are ahead of UTC. */
  #offsetMs(momentMs: number): number {
    const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = this.#format
      .formatToParts(momentMs)
      .flatMap(({ type, value }) => (type === 'literal' ? [] : [Number(value)]))
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(momentMs / 1000) * 1000
  }
}

/** No clock is further from UTC. */
const FURTHEST_MS = 15 * 3_600_000

const FORMATS = new Map<string, Intl.DateTimeFormat>()

/** Year, month, day, hour, minute and second, in this order. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = FORMATS.get(timeZone)
  if (known !== undefined) return known
  const two = '2-digit'
  const format = new Intl.DateTimeFormat('en-ZA', {
    timeZone,
    ...{ year: 'numeric', month: two, day: two, hour: two, minute: two, second: two, hourCycle: 'h23' },
  })
  FORMATS.set(timeZone, format)
  return format
}
