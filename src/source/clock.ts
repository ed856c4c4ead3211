import { type AnswerHeaders, headerOf } from './answer.ts'
import { httpDateMs } from './http-date.ts'

/** The service's clock as learned from the `Date` headers of its answers, and how far signatures are corrected to meet it. */
export type Clock = {
  /** Milliseconds the service's clock is ahead of ours, to about a second; undefined until an answer told. */
  readonly offsetMs: number | undefined
  /** Milliseconds added to our clock when signing. 0 until a refusal showed that it is needed. */
  readonly correctionMs: number
  /** Learns from an answer that was asked for at `sentMs` and arrived at `answeredMs`. */
  observe(answer: { headers: AnswerHeaders; sentMs: number; answeredMs: number }): void
  /** Whether a signature made with `correctionMs` may have been refused for its time alone. */
  explains(correctionMs: number): boolean
  /** From now on, sign with the service's clock. The new correction; undefined when another request has made it already. */
  adopt(): number | undefined
}

/**
 * A `Date` header is cut to a whole second and as old as half a round trip, so a few seconds are noise and not an offset.
 * No service refuses them either: five seconds is less than what any of them allows for ordinary clocks.
 */
const NOTABLE_OFFSET_MS = 5000

export function createClock(): Clock {
  let offsetMs: number | undefined
  let correctionMs = 0
  const dates = createDates()

  const explains = (usedMs: number): boolean => offsetMs !== undefined && isNotable(offsetMs - usedMs)

  return {
    get offsetMs() {
      return offsetMs
    },
    get correctionMs() {
      return correctionMs
    },
    observe(answer) {
      offsetMs = offsetOf(answer, dates) ?? offsetMs
    },
    explains,
    adopt() {
      if (offsetMs === undefined || !explains(correctionMs)) return undefined
      correctionMs = offsetMs
      return correctionMs
    },
  }
}

/** Whether an offset is more than what the resolution of a `Date` header could pretend. */
export function isNotable(offsetMs: number): boolean {
  return Math.abs(offsetMs) > NOTABLE_OFFSET_MS
}

function offsetOf(
  answer: { headers: AnswerHeaders; sentMs: number; answeredMs: number },
  dates: Dates,
): number | undefined {
  const { headers, sentMs, answeredMs } = answer
  // An answer out of a cache carries the date it was made, not the present one.
  if (Number(headerOf(headers, 'age') ?? 0) > 0) return undefined
  const dateMs = dates.read(headerOf(headers, 'date') ?? '')
  if (dateMs === undefined) return undefined
  // The header was cut to its second, so the middle of that second errs least; so does the middle of the exchange.
  return Math.round(dateMs + 500 - (sentMs + answeredMs) / 2)
}

/** Reads HTTP dates. */
type Dates = { read(text: string): number | undefined }

/** Remembers the last date: all answers of one second carry the same. */
function createDates(): Dates {
  let last: { text: string; ms: number | undefined } = { text: '', ms: undefined }
  return {
    read(text) {
      if (text !== last.text) last = { text, ms: httpDateMs(text) }
      return last.ms
    },
  }
}
