import type { Run } from '../run.ts'
import type { Mirror } from '../store.ts'

/** How often a waiting run renews its lease. */
const HEARTBEAT_MS = 15_000

/** Renews the lease while a run waits, until `stop`; `lost` is aborted when another run took over. */
export function keepLease(
  mirror: Pick<Mirror, 'renewLease'>,
  run: Run,
  now: () => number,
): { lost: AbortSignal; stop(): void } {
  const lost = new AbortController()
  const heartbeat = setInterval(() => {
    mirror.renewLease(run, now()).catch((error: unknown) => {
      lost.abort(error)
    })
  }, HEARTBEAT_MS)
  return {
    lost: lost.signal,
    stop: () => {
      clearInterval(heartbeat)
    },
  }
}
