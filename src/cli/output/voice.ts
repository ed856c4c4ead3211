import type { Outcome, Progress } from '../../mirror-organization.ts'
import type { SourceEvent } from '../../source/customers.ts'
import { duration, summary } from './wording.ts'

/** Says how runs are getting on: on a terminal, in plain lines, or in a log. `id` is that of the organization. */
export type Voice = {
  began(id: string): void
  progress(id: string, progress: Progress): void
  event(id: string, event: SourceEvent): void
  ended(id: string, outcome: Outcome): void
  /** Everything has ended; nothing is said after this. */
  close(): void
}

/** A plain line when a run is done or has to wait, for files, pipes and mails. */
export function plainLines(ids: readonly string[], stderr: NodeJS.WritableStream): Voice {
  const width = Math.max(...ids.map((id) => id.length))
  const say = (id: string, text: string) => void stderr.write(`${id.padEnd(width)}  ${text}\n`)
  return {
    began: () => {},
    progress: () => {},
    event: (id, event) => say(id, eventWords(event)),
    ended: (id, outcome) => say(id, lastWords(outcome)),
    close: () => {},
  }
}

/** Says nothing: what there is to say is in the log. */
export const SILENT: Voice = {
  began: () => {},
  progress: () => {},
  event: () => {},
  ended: () => {},
  close: () => {},
}

/** What keeps a run waiting, or was found out on the way, in a line. */
export function eventWords(event: SourceEvent): string {
  if (event.kind === 'clock-corrected') {
    return `the service's clock differs by ${duration(Math.abs(event.offsetMs))}; signing with its time`
  }
  const why = event.reason === 'rate-limited' ? 'asked to slow down' : 'not available'
  return `${why}; goes on in ${duration(wholeSeconds(event.waitMs))}, at ${clockTime(event.untilMs)}`
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

function clockTime(unixMs: number): string {
  return new Date(unixMs).toTimeString().slice(0, 8)
}
