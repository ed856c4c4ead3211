import type { Outcome, Progress } from '../../sync/mirror-organization.ts'
import { monotonicMs } from '../../machine/timers.ts'
import type { Talk } from '../../sync/run-organization.ts'
import { redrawableScreenOf } from '../io.ts'
import type { SourceEvent } from '../../source/customers.ts'
import { duration, second } from './wording.ts'

/** Organizations that are mirrored at the same time. */
const AT_ONCE = 8

/**
 * Runs `work` for every organization in parallel and reports the progress of each, with live lines if `stderr` is a terminal. Without one
 * nothing is written: cron mails every word. A failure does not stop the others.
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
  const screen = redrawableScreenOf(stderr)
  if (screen === undefined) return SILENT
  const { liveProgress } = await import('./live-lines.ts')
  return liveProgress(
    items.map(({ id }) => id),
    screen,
    monotonicMs,
    stop,
  )
}

/** Reports the progress of runs: on a terminal, or in a log. `id` is that of the organization. */
export type ProgressReporter = {
  began(id: string): void
  progress(id: string, progress: Progress): void
  event(id: string, event: SourceEvent): void
  ended(id: string, outcome: Outcome): void
  /** Ends the output, after all runs have ended. */
  close(): void
}

/** Prints nothing. */
export const SILENT: ProgressReporter = {
  began: () => {},
  progress: () => {},
  event: () => {},
  ended: () => {},
  close: () => {},
}

/** An event of a run in one line: why it waits and until which time, or a corrected clock. A wait is never reported shorter than it is. */
export function eventWords(event: SourceEvent): string {
  if (event.kind === 'clock-corrected') {
    return `the service's clock differs by ${duration(Math.abs(event.offsetMs))}; signing with its time`
  }
  const wait = duration(Math.ceil(event.waitMs / 1000) * 1000)
  return `${WHY[event.reason]}; continues in ${wait}, at ${second(event.untilMs).slice(11)} UTC`
}

const WHY = {
  'rate-limited': 'asked to slow down',
  unavailable: 'not available',
  'mirror-gone': 'the server of the mirror does not answer',
}
