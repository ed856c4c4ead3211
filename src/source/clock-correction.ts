import type { Clock } from './clock.ts'
import { isUnauthorized } from './refusal.ts'
import type { Retry } from './retry.ts'

/** From now on, requests are signed by the service's clock. */
export type ClockCorrected = { kind: 'clock-corrected'; offsetMs: number }

type ClockCorrectionOptions = {
  clock: Clock
  /** Unix milliseconds, as `attempt` signs. */
  now: () => number
  monotonicMs: () => number
  onEvent?: ((event: ClockCorrected) => void) | undefined
}

/**
 * A retry that asks once more, signing by the service's clock, where a request was refused as unauthorized and the time of its
 * signature may be why.
 */
export function withClockCorrection(retry: Pick<Retry, 'ask'>, options: ClockCorrectionOptions): Pick<Retry, 'ask'> {
  const { clock, now, monotonicMs, onEvent } = options
  return {
    async ask(attempt, stopping) {
      let signed = { unixMs: 0, atMs: 0 }
      const signingNow: typeof attempt = () => {
        signed = { unixMs: now() + clock.correctionMs, atMs: monotonicMs() }
        return attempt()
      }
      try {
        return await retry.ask(signingNow, stopping)
      } catch (error) {
        // As far as it was corrected, unless our clock was set while the request was under way.
        const signedAheadMs = signed.unixMs + (monotonicMs() - signed.atMs) - now()
        if (!isUnauthorized(error) || !clock.explains(signedAheadMs)) throw error
        const offsetMs = clock.adopt()
        if (offsetMs !== undefined) onEvent?.({ kind: 'clock-corrected', offsetMs })
        return await retry.ask(signingNow, stopping)
      }
    },
  }
}
