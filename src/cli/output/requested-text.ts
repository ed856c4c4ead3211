import { moment, second } from '../../wording.ts'
import type { ExitCode } from '../exit-code.ts'
import { configOption } from './shell-word.ts'

/** A requested run, as far as words need it. */
type Requested = Omit<import('../../../jobs/commands/run-now.ts').RequestedRun, 'job'>

/** What was asked for, and the configuration that the user named. */
type Asked = { quick?: boolean | undefined; wait?: boolean | undefined; config?: string | undefined }

/** One line for each requested run: whether a job was added, or which one there is. After `wait` the advice for a pause follows. */
export function requestedText(requested: readonly Requested[], asked: Asked): string {
  return requested.map((run) => `${run.organization}: ${wordsOf(run, asked)}\n`).join('')
}

/** 5 where a service said when to ask again, and for a paused organization. */
export function requestedCode(requested: readonly Requested[]): ExitCode {
  return requested.some(({ state }) => state === 'told-to-wait' || state === 'paused') ? 5 : 0
}

function wordsOf({ organization, added, state, untilMs }: Requested, { quick = false, wait, config }: Asked): string {
  if (added) return quick ? 'quick run queued' : 'queued'
  const resume = `. First: customer-mirror resume ${organization}${configOption(config)}`
  if (state === 'paused') return pausedWords(untilMs) + (wait === true ? '' : resume)
  if (untilMs !== undefined) return toldToWait(untilMs)
  const states = quick ? QUICK_STATES : STATES
  return states[state] ?? `has a job already (${state})`
}

function pausedWords(untilMs: number | undefined): string {
  const until = untilMs === undefined ? '' : ` until ${moment(untilMs)}`
  return `is paused${until}; nothing was requested`
}

function toldToWait(untilMs: number): string {
  const until = second(Math.ceil(untilMs / 1000) * 1000)
  return `has a job that starts by itself at ${until} UTC: until then, its service asked to wait. Nothing was changed, because it would refuse an earlier request`
}

const STATES: Readonly<Record<string, string>> = {
  active: 'is being mirrored at this moment',
  waiting: 'is queued already',
  started: 'has a job that waited; it starts now',
  delayed: 'has a job that waits for its next attempt; nothing was added. --now starts it',
  ended: 'had a job that ended just now; ask again for another run',
}

const QUICK_STATES: Readonly<Record<string, string>> = {
  active: 'has a quick run at this moment',
  waiting: 'has a quick run in the queue already',
  started: 'has a quick run that waited for its moment; it starts now',
  delayed: 'has a quick run in the queue already, which waits for its moment',
  ended: 'had a quick run that ended just now; ask again for another one',
  'full-run': 'its whole list is being read, or is about to be; no quick run was added',
}
