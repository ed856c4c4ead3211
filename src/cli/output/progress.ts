import { print } from './say.ts'
import type { Outcome, Progress } from '../../sync/mirror-organization.ts'
import { monotonicMs } from '../../machine/timers.ts'
import type { Talk } from '../../sync/run-organization.ts'
import { redrawableScreenOf } from '../io.ts'
import type { SourceEvent } from '../../source/customers.ts'
import { duration, second, summary } from './wording.ts'

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

/** Reports the progress of runs: on a terminal, in plain lines, or in a log. `id` is that of the organization. */
export type ProgressReporter = {
  began(id: string): void
  progress(id: string, progress: Progress): void
  event(id: string, event: SourceEvent): void
  ended(id: string, outcome: Outcome): void
  /** Ends the output, after all runs have ended. */
  close(): void
}

/** A plain line when a run is done or has to wait, for files, pipes and mails. */
function plainLines(ids: readonly string[], stderr: NodeJS.WritableStream): ProgressReporter {
  const width = Math.max(...ids.map((id) => id.length))
  const say = (id: string, text: string) => print(stderr, `${id.padEnd(width)}  ${text}\n`)
  return {
    ...SILENT,
    event: (id, event) => say(id, eventWords(event)),
    ended: (id, outcome) => say(id, lastWords(outcome)),
  }
}

/** Prints nothing. */
export const SILENT: ProgressReporter = {
  began: () => {},
  progress: () => {},
  event: () => {},
  ended: () => {},
  close: () => {},
}

/** An event of a run in one line: why it waits, and if not `short` until which time, or a corrected clock. */
export function eventWords(event: SourceEvent, { short = false } = {}): string {
  if (event.kind === 'clock-corrected') {
    return `the service's clock differs by ${duration(Math.abs(event.offsetMs))}; signing with its time`
  }
  const waits = `${WHY[event.reason]}; continues in ${duration(wholeSeconds(event.waitMs))}`
  return short ? waits : `${waits}, at ${second(event.untilMs).slice(11)} UTC`
}

const WHY = {
  'rate-limited': 'asked to slow down',
  unavailable: 'not available',
  'mirror-gone': 'the server of the mirror does not answer',
}

function lastWords({ report, error }: Outcome): string {
  if (error === undefined) return summary(report)
  if (report.status === 'interrupted') return `stopped: ${summary(report)}`
  return `failed: ${report.error?.message ?? ''}`
}

/** A wait is never reported shorter than it is. */
function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000) * 1000
}
