import { Listr, ListrLogger, ProcessOutput } from 'listr2'
import type { Outcome, Progress } from '../mirror-organization.ts'
import type { SourceEvent } from '../source/customers.ts'
import { count, duration, summary } from './wording.ts'

/** How a run tells how it is getting on. */
export type Talk = { onProgress: (progress: Progress) => void; onEvent: (event: SourceEvent) => void }

/** Organizations that are mirrored at the same time. */
const AT_ONCE = 8

/**
 * Runs `work` for every organization side by side and shows a live line for each; a plain line each when it is done or has
 * to wait, where `stderr` is no terminal. One that fails stops no other.
 */
export async function showProgress<Item extends { id: string }>(
  items: readonly Item[],
  stderr: NodeJS.WritableStream,
  work: (item: Item, talk: Talk) => Promise<Outcome>,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const unexpected: unknown[] = []
  const terminal = asTerminal(stderr)
  const width = Math.max(...items.map(({ id }) => id.length))
  const tasks = items.map((item, index) => {
    const name = item.id.padEnd(width)
    return {
      title: name,
      task: async (_: unknown, task: { title: string }) => {
        const say = (text: string) => {
          task.title = `${name}  ${text}`
        }
        const sayAlways = (text: string) => {
          say(text)
          if (terminal === undefined) stderr.write(`${name}  ${text}\n`)
        }
        const outcome = await work(item, talkWith(say, sayAlways)).catch((error: unknown) => {
          unexpected.push(error)
          throw error
        })
        outcomes[index] = outcome
        sayAlways(lastWord(outcome))
        // The list shows a task as failed when it throws; what went wrong is told from the outcome.
        if (outcome.error !== undefined) throw new Error(lastWord(outcome))
      },
    }
  })
  await new Listr(tasks, {
    concurrent: AT_ONCE,
    exitOnError: false,
    registerSignalListeners: false,
    renderer: terminal === undefined ? 'silent' : 'default',
    rendererOptions: terminal === undefined ? {} : { logger: loggerFor(terminal), formatOutput: 'truncate' },
  }).run()
  if (unexpected.length > 0) throw unexpected[0]
  return outcomes
}

function talkWith(say: (text: string) => void, sayAlways: (text: string) => void): Talk {
  return {
    onProgress: ({ customers, total, pages }) => {
      const of = total === undefined ? '' : ` of ${total.toLocaleString('en')}`
      say(`${customers.toLocaleString('en')}${of} customers · ${count(pages, 'page')}`)
    },
    onEvent: (event) => {
      if (event.kind === 'clock-corrected') {
        sayAlways(`the service's clock differs by ${duration(Math.abs(event.offsetMs))}; signing with its time`)
      } else {
        const why = event.reason === 'rate-limited' ? 'asked to slow down' : 'not available'
        sayAlways(`${why}; goes on in ${duration(wholeSeconds(event.waitMs))}, at ${clockTime(event.untilMs)}`)
      }
    },
  }
}

/** A wait is told no shorter than it is. */
function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000) * 1000
}

function lastWord({ report, error }: Outcome): string {
  if (error === undefined) return summary(report)
  if (report.status === 'interrupted') return `stopped: ${summary(report)}`
  return `failed: ${report.error?.message ?? ''}`
}

function clockTime(unixMs: number): string {
  return new Date(unixMs).toTimeString().slice(0, 8)
}

/** Standard output is for results, so the live lines go to the terminal behind standard error. */
function loggerFor(terminal: NodeJS.WriteStream): ListrLogger {
  return new ListrLogger({ useIcons: false, processOutput: new ProcessOutput(terminal, terminal) })
}

function asTerminal(stream: NodeJS.WritableStream): NodeJS.WriteStream | undefined {
  // A terminal that does not know its width would have every line cut to nothing.
  return stream === process.stderr && process.stderr.isTTY && process.stderr.columns > 0 ? process.stderr : undefined
}
