import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Run } from '../run.ts'
import type { Mirror } from '../store.ts'
import type { ReadingLimits } from './read-list.ts'

type Applying = { mirror: Pick<Mirror, 'applyPrivacy'>; now: () => number }

/** Rewrites what is stored under another privacy policy. What is done is kept if it is stopped, and the next run goes on from there. */
export async function applyPrivacy({ mirror, now }: Applying, run: Run, limits: ReadingLimits): Promise<void> {
  while (await mirror.applyPrivacy(run, now())) {
    limits.look()
    // The lease is renewed and signals arrive between two steps.
    await nextTurn()
    limits.stop.throwIfAborted()
    limits.abort.throwIfAborted()
  }
}
