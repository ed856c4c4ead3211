import type { Mirror } from './mirror.ts'
import type { Run } from './runs.ts'

/** How often a run that waits says that it still lives. */
const HEARTBEAT_MS = 15_000

/**
 * Keeps the organization held while its run waits, until `stop`. The signal returned is aborted with `signal`, and when
 * another run took over all the same; `lost` then tells the error.
 */
export function holdOrganization(
  mirror: Pick<Mirror, 'renewLease'>,
  run: Run,
  { now, signal }: { now: () => number; signal: AbortSignal },
): { signal: AbortSignal; lost(): unknown; stop(): void } {
  const lost = new AbortController()
  const heartbeat = setInterval(() => {
    mirror.renewLease(run, now()).catch((error: unknown) => {
      lost.abort(error)
    })
  }, HEARTBEAT_MS)
  return {
    signal: AbortSignal.any([signal, lost.signal]),
    lost: () => (lost.signal.aborted ? lost.signal.reason : undefined),
    stop: () => {
      clearInterval(heartbeat)
    },
  }
}
