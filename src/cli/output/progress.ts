import { monotonicMs } from '../../machine/timers.ts'
import type { Outcome } from '../../sync/mirror-organization.ts'
import type { Talk } from '../../sync/run-organization.ts'
import { redrawableScreenOf } from '../io.ts'

/** Organizations that are mirrored at the same time. */
const AT_ONCE = 8

/** Reports the progress of runs: on a terminal, or in a log. */
export type Reporter = {
  /** Takes what is reported of one organization, from its beginning to its end. */
  began(id: string): Talk & { ended(outcome: Outcome): void }
  /** Ends the output, after all runs have ended. */
  close(): void
}

/**
 * Runs `work` for every organization in parallel and reports the progress of each, with live lines if `stderr` is a terminal. Without one
 * nothing is written: cron mails every word. A failure does not stop the others.
 */
export async function showProgress<Item extends { id: string }>(
  items: readonly Item[],
  stderr: NodeJS.WritableStream,
  work: (item: Item, talk: Talk) => Promise<Outcome>,
  { stop, reporter: given }: { stop?: AbortSignal; reporter?: Reporter | undefined } = {},
): Promise<Outcome[]> {
  const reporter = given ?? (await reporterFor(items, stderr, stop))
  const outcomes: Outcome[] = []
  const unexpected: unknown[] = []
  const queue = [...items.entries()]
  const workOff = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [index, item] = next
      const run = reporter.began(item.id)
      try {
        const outcome = await work(item, run)
        outcomes[index] = outcome
        run.ended(outcome)
      } catch (error) {
        unexpected.push(error)
      }
    }
  }
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, workOff))
  } finally {
    reporter.close()
  }
  if (unexpected.length > 0) throw unexpected[0]
  return outcomes
}

async function reporterFor(
  items: readonly { id: string }[],
  stderr: NodeJS.WritableStream,
  stop?: AbortSignal,
): Promise<Reporter> {
  const screen = redrawableScreenOf(stderr)
  if (screen === undefined) return { began: () => SILENT, close: () => {} }
  const { liveProgress } = await import('./live-lines.ts')
  const ids = items.map(({ id }) => id)
  return liveProgress(ids, screen, { monotonicMs, stop })
}

/** Reports nothing. */
export const SILENT = { onProgress: () => {}, onEvent: () => {}, ended: () => {} }
