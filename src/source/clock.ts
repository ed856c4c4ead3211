import { type Answer, headerOf } from './connection.ts'
import { httpDateMs } from './retry-after.ts'

type Timed = Pick<Answer, 'headers' | 'sentMs' | 'answeredMs'>

/** So small an offset is noise: a `Date` is cut to its second, and as old as half a round trip. No service refuses so little either. */
const NOTABLE_OFFSET_MS = 5000
/** An answer with a higher `Age` is too old. */
const MOST_AGE_SECONDS = 5
/** A `Date` so far ahead is checked: a slow exchange explains less. */
const FAR_AHEAD_MS = 60_000
/** Clocks are set wrong by minutes, or by a time zone. Further off, it is the `Date` that is wrong. */
const MOST_CORRECTION_MS = 86_400_000

export type Clock = ReturnType<typeof serviceClock>

/** The service's clock, by the `Date` of answers, and that for signing. A lead is how far one is ahead of our monotonic clock, which is never set. */
export function serviceClock({ now, monotonicMs }: { now: () => number; monotonicMs: () => number }) {
  let seen: Lead | undefined
  /** The lead that requests are signed with; undefined while they are signed by our own clock. */
  let signingLeadMs: number | undefined
  /** The least lead of the service. Until more is known, it is assumed to agree with our clock at the first answer. */
  let leastLeadMs: number | undefined
  let isTrusted = false
  const ownLeadMs = () => now() - monotonicMs()
  const leastMs = () => (leastLeadMs ??= ownLeadMs())
  const isBehind = ({ latestMs }: Lead) => latestMs < leastMs() - NOTABLE_OFFSET_MS
  return {
    /** Milliseconds the service's clock is ahead of ours, to about a second; undefined until an answer shows it. */
    get offsetMs() {
      return seen && seen.middleMs - ownLeadMs()
    },
    /** The time by the service's clock; by ours, until an answer shows the service's. */
    get serviceNowMs() {
      return seen === undefined ? now() : monotonicMs() + seen.middleMs
    },
    /** Milliseconds added to our clock when signing. 0 until a refusal showed that it is needed, and never beyond a day. */
    get correctionMs() {
      return signingLeadMs === undefined ? 0 : signingLeadMs - ownLeadMs()
    },
    get signingMs() {
      return signingLeadMs === undefined ? now() : monotonicMs() + signingLeadMs
    },
    /** Learns from an answer, unless it may have been made before the request. */
    observe(answer: Timed): void {
      const lead = ageOf(answer) > 0 ? undefined : leadIn(answer)
      if (lead === undefined || (isTrusted && isBehind(lead))) return
      seen = lead
      if (!isTrusted && this.fits(answer)) leastLeadMs = Math.max(leastMs(), lead.earliestMs)
    },
    /** Whether the `Date` of an answer agrees with the service's clock as far as it is known, and before that with our own. */
    fits(answer: Timed): boolean {
      const lead = leadIn(answer)
      return lead === undefined || (!isBehind(lead) && lead.earliestMs <= leastMs() + FAR_AHEAD_MS)
    },
    /** Whether an answer was made before the request, by its `Age` or its `Date`: it says nothing about the list as it is now. */
    isOld(answer: Timed): boolean {
      const lead = leadIn(answer)
      return ageOf(answer) > MOST_AGE_SECONDS || (lead !== undefined && isBehind(lead))
    },
    /** Takes the clock from an answer that cannot come from a cache, whatever was known before. */
    anchor(answer: Timed): void {
      seen = ageOf(answer) > 0 ? undefined : leadIn(answer)
      if (seen === undefined) return
      leastLeadMs = seen.earliestMs
      isTrusted = true
    },
    /** Whether a signature made by a clock with this lead may have been refused for its time alone. */
    explains(signedLeadMs: number): boolean {
      if (seen === undefined || Math.abs(seen.middleMs - ownLeadMs()) > MOST_CORRECTION_MS) return false
      return isNotable(seen.middleMs - signedLeadMs)
    },
    /** From now on, sign with the service's clock. Its offset; undefined when another request has done it already. */
    adopt(): number | undefined {
      if (seen === undefined || !this.explains(signingLeadMs ?? ownLeadMs())) return undefined
      signingLeadMs = seen.middleMs
      leastLeadMs = seen.earliestMs
      return this.correctionMs
    },
  }
}

function leadIn({ headers, sentMs, answeredMs }: Timed): Lead | undefined {
  const ms = httpDateMs(headerOf(headers, 'date') ?? '')
  if (ms === undefined) return undefined
  // The header was cut to its second, and written at some time between the first byte sent and the last one received.
  const [earliestMs, latestMs] = [ms - answeredMs, ms + 1000 - sentMs]
  return { earliestMs, middleMs: Math.round((earliestMs + latestMs) / 2), latestMs }
}

/** What one answer says about the service's lead: somewhere between the two ends, most likely in the middle. */
type Lead = { earliestMs: number; middleMs: number; latestMs: number }

/** Whether an offset is larger than the resolution of a `Date` header explains. */
export function isNotable(offsetMs: number): boolean {
  return Math.abs(offsetMs) > NOTABLE_OFFSET_MS
}

/** Seconds an answer has spent in caches, as the caches state. */
function ageOf({ headers }: Timed): number {
  return Number.parseInt(headerOf(headers, 'age') ?? '0', 10) || 0
}
