import { type Answer, headerOf } from '../connection/answer.ts'
import { httpDateMs } from './http-date.ts'

/** The service's clock as learned from the `Date` headers of its answers, and how far signatures are corrected to meet it. */
export type Clock = {
  /** Milliseconds the service's clock is ahead of ours, to about a second; undefined until an answer shows it. */
  readonly offsetMs: number | undefined
  /** Milliseconds added to our clock when signing. 0 until a refusal showed that it is needed, and never beyond a day. */
  readonly correctionMs: number
  /** Learns from an answer, unless it may have been made before the request. */
  observe(answer: Timed): void
  /** Whether the `Date` of an answer agrees with the service's clock as far as it is known, and before that with our own. */
  fits(answer: Timed): boolean
  /** Whether an answer was made before the request, by its `Age` or its `Date`: it says nothing about the list as it is now. */
  isOld(answer: Timed): boolean
  /** Takes the clock from an answer that cannot come from a cache, whatever was known before. */
  anchor(answer: Timed): void
  /** Whether a signature made with `correctionMs` may have been refused for its time alone. */
  explains(correctionMs: number): boolean
  /** From now on, sign with the service's clock. The new correction; undefined when another request has made it already. */
  adopt(): number | undefined
}

type Timed = Pick<Answer, 'headers' | 'sentMs' | 'answeredMs'> & Partial<Pick<Answer, 'monotonicAnsweredMs'>>

/**
 * A `Date` header is cut to a whole second and as old as half a round trip, so a few seconds are noise and not an offset.
 * No service refuses them either: five seconds is less than what any of them allows for ordinary clocks.
 */
const NOTABLE_OFFSET_MS = 5000
/** An answer with a higher `Age` is too old. */
const MOST_AGE_SECONDS = 5
/** A `Date` so far ahead is checked: a slow exchange explains less. */
const FAR_AHEAD_MS = 60_000
/** Clocks are set wrong by minutes, or by a time zone. Further off, it is the `Date` that is wrong. */
const MOST_CORRECTION_MS = 86_400_000

export function createClock(): Clock {
  let seen: Reading | undefined
  let correctionMs = 0
  /**
   * How far the service's clock is at least ahead of ours as ours was set at the first answer. Until more is known, the two are
   * assumed to agree.
   */
  let floorMs = 0
  let isTrusted = false
  const dates = createDates()
  const steps = createSteps()

  const isBehind = ({ latestMs, stepMs }: Reading): boolean => latestMs + stepMs < floorMs - NOTABLE_OFFSET_MS
  const isFarAhead = ({ earliestMs, stepMs }: Reading): boolean => earliestMs + stepMs > floorMs + FAR_AHEAD_MS
  const read = (answer: Timed): Reading | undefined => {
    const stepMs = steps.at(answer)
    const range = dates.rangeOf(answer)
    return range === undefined ? undefined : { ...range, stepMs }
  }
  const explains = (usedMs: number): boolean =>
    seen !== undefined && isCorrectable(seen.middleMs) && isNotable(seen.middleMs - usedMs)

  return {
    get offsetMs() {
      return seen?.middleMs
    },
    get correctionMs() {
      return correctionMs
    },
    observe(answer) {
      const reading = ageOf(answer) > 0 ? undefined : read(answer)
      if (reading === undefined || (isTrusted && isBehind(reading))) return
      seen = reading
      if (!isTrusted && !isBehind(reading) && !isFarAhead(reading))
        floorMs = Math.max(floorMs, reading.earliestMs + reading.stepMs)
    },
    fits(answer) {
      const reading = read(answer)
      return reading === undefined || (!isBehind(reading) && !isFarAhead(reading))
    },
    isOld(answer) {
      const reading = read(answer)
      return ageOf(answer) > MOST_AGE_SECONDS || (reading !== undefined && isBehind(reading))
    },
    anchor(answer) {
      seen = ageOf(answer) > 0 ? undefined : read(answer)
      if (seen === undefined) return
      floorMs = seen.earliestMs + seen.stepMs
      isTrusted = true
    },
    explains,
    adopt() {
      if (seen === undefined || !explains(correctionMs)) return undefined
      correctionMs = seen.middleMs
      floorMs = seen.earliestMs + seen.stepMs
      return correctionMs
    },
  }
}

/** Whether an offset is larger than the resolution of a `Date` header explains. */
export function isNotable(offsetMs: number): boolean {
  return Math.abs(offsetMs) > NOTABLE_OFFSET_MS
}

/** Whether signatures may be corrected by so much. */
export function isCorrectable(offsetMs: number): boolean {
  return Math.abs(offsetMs) <= MOST_CORRECTION_MS
}

/** What one answer says about the service's offset: somewhere between the two ends, most likely in the middle. */
type Range = { earliestMs: number; middleMs: number; latestMs: number }
/** The same, and how far our clock was set forward between the first answer and this one. */
type Reading = Range & { stepMs: number }

/** Seconds an answer has spent in caches, as the caches state. */
function ageOf({ headers }: Timed): number {
  return Number.parseInt(headerOf(headers, 'age') ?? '0', 10) || 0
}

type Dates = { rangeOf(answer: Timed): Range | undefined }

/** Remembers the last date: all answers of one second carry the same. */
function createDates(): Dates {
  let last: { text: string; ms: number | undefined } = { text: '', ms: undefined }
  return {
    rangeOf({ headers, sentMs, answeredMs }) {
      const text = headerOf(headers, 'date') ?? ''
      if (text !== last.text) last = { text, ms: httpDateMs(text) }
      if (last.ms === undefined) return undefined
      // The header was cut to its second, and written at some time between the first byte sent and the last one received.
      const [earliestMs, latestMs] = [last.ms - answeredMs, last.ms + 1000 - sentMs]
      return { earliestMs, middleMs: Math.round((earliestMs + latestMs) / 2), latestMs }
    },
  }
}

/** Milliseconds by which our clock was set forward since the first answer, measured by the monotonic clock. */
function createSteps(): { at(answer: Timed): number } {
  let firstMs: number | undefined
  return {
    at({ answeredMs, monotonicAnsweredMs = answeredMs }) {
      const aheadMs = answeredMs - monotonicAnsweredMs
      firstMs ??= aheadMs
      return aheadMs - firstMs
    },
  }
}
