import type { Clock } from './clock.ts'
import { isUnauthorized } from '../refusal.ts'
import type { Retry } from '../pace/retry.ts'

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
 * A retry that sends a request once more, signed by the service's clock, if it was refused as unauthorized and the time of its
 * signature may be the reason.
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
        // The correction at the time of signing, unless our clock was set during the request.
        const signedAheadMs = signed.unixMs + (monotonicMs() - signed.atMs) - now()
        if (!isUnauthorized(error) || !clock.explains(signedAheadMs)) throw error
        if (stopping.mayAskMore?.() === false) throw error
        const offsetMs = clock.adopt()
        if (offsetMs !== undefined) onEvent?.({ kind: 'clock-corrected', offsetMs })
        return await retry.ask(signingNow, stopping)
      }
    },
  }
}
