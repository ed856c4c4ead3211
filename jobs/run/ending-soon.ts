import type { Outcome } from '../../src/mirror-organization.ts'
import { within } from '../queue/deadline.ts'

/** Waits for the run; after a stop only for a limited time. A page that arrives later is lost. */
export async function endingSoon(
  running: Promise<Outcome>,
  stop: AbortSignal,
  handBackMs: number,
): Promise<Outcome | undefined> {
  const { promise: stopped, resolve } = Promise.withResolvers<void>()
  if (stop.aborted) resolve()
  const onStop = () => resolve()
  stop.addEventListener('abort', onStop, { once: true })
  // A worker makes runs for months, with one signal for all of them.
  const first = await Promise.race([running, stopped]).finally(() => stop.removeEventListener('abort', onStop))
  return first ?? within(running, handBackMs, undefined)
}
