import type { Outcome } from '../../mirror-organization.ts'
import { monotonicMs } from '../../machine/monotonic-clock.ts'
import type { Talk } from '../../run-organization.ts'
import { redrawableScreenOf } from '../io.ts'
import { plainLines, type ProgressReporter } from './progress-reporter.ts'

/** Organizations that are mirrored at the same time. */
const AT_ONCE = 8

/**
 * Runs `work` for every organization in parallel and reports the progress of each: with live lines if `stderr` is a terminal,
 * otherwise with a plain line when one is done or has to wait. A failure does not stop the others.
 */
export async function showProgress<Item extends { id: string }>(
  items: readonly Item[],
  stderr: NodeJS.WritableStream,
  work: (item: Item, talk: Talk) => Promise<Outcome>,
  { stop, reporter: given }: { stop?: AbortSignal; reporter?: ProgressReporter | undefined } = {},
): Promise<Outcome[]> {
  const reporter = given ?? (await reporterFor(items, stderr, stop))
  const outcomes: Outcome[] = []
  const unexpected: unknown[] = []
  const queue = [...items.entries()]
  const workOff = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [index, item] = next
      reporter.began(item.id)
      try {
        const outcome = await work(item, callbacksOf(reporter, item.id))
        outcomes[index] = outcome
        reporter.ended(item.id, outcome)
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

function callbacksOf(reporter: ProgressReporter, id: string): Talk {
  return {
    onProgress: (progress) => reporter.progress(id, progress),
    onEvent: (event) => reporter.event(id, event),
  }
}

async function reporterFor(
  items: readonly { id: string }[],
  stderr: NodeJS.WritableStream,
  stop?: AbortSignal,
): Promise<ProgressReporter> {
  const ids = items.map(({ id }) => id)
  const screen = redrawableScreenOf(stderr)
  if (screen === undefined) return plainLines(ids, stderr)
  const { liveLines } = await import('./live-lines.ts')
  return liveLines(ids, screen, monotonicMs, stop)
}
