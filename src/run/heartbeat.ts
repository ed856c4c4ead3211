import type { Run } from '../run.ts'
import type { Mirror } from '../store.ts'

/** How often a run that waits says that it still lives. */
const HEARTBEAT_MS = 15_000

/** Keeps the organization leased while its run waits, until `stop`; `lost` is aborted when another run took over all the same. */
export function holdOrganization(
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
