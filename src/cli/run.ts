import { isSharedQueue, shownMirror } from '../address/mirror-address.ts'
import { chooseIds } from '../config/organization.ts'
import type { Config } from '../config/read-config.ts'
import { UsageError } from '../errors/errors.ts'
import { processWords } from '../machine/process-name.ts'
import { monotonicMs } from '../machine/timers.ts'
import type { LeasedRun } from '../model/report.ts'
import { command, durationArgument, listHeldRemovals, listUnderway, namedConfig, withMirrorOf } from './command.ts'
import { exitCodeOfRuns, type ExitCode, oneExitCode } from './exit-code.ts'
import { type Io, type Screen, screenOf } from './io.ts'
import { foundText, whatToDo } from './output/advice.ts'
import { differentCustomers, runsTable } from './output/run-words.ts'
import { configOption, count, duration, moment, print, say, second } from './output/say.ts'

/** `customer-mirror run`: asks the worker for a run now. */
export function runCommand(io: Io) {
  return command('run', EXAMPLES)
    .argument('<organization...>', 'ids of organizations')
    .option('--quick', 'ask for a quick run: who came and who left, in a few requests')
    .option('--now', 'also start a job that waits for its next attempt, unless the service said when')
    .option('--wait', 'wait until the jobs have ended, and show their runs, with the exit codes of sync')
    .option('--timeout <time>', 'with --wait: stop waiting after so long, and end with 5: 90s, 30m, 2h', TIMEOUT)
    .action(async (ids, { wait, timeout: timeoutMs, config: file, quick = false, now }) => {
      if (timeoutMs !== undefined && !wait)
        throw new UsageError('--timeout is for --wait. Nothing was requested. Add --wait, or leave --timeout out.')
      const config = await namedConfig(file)
      const options = { kind: quick ? ('quick' as const) : ('sync' as const), now, clock: Date.now }
      const asked = { config, file, chosen: chooseIds(config, ids), options }
      if (wait) return waitForRuns(asked, timeoutMs, io)
      const { requestRuns } = await import('../../jobs/commands/run-and-wait.ts')
      const requested = await requestRuns(config, asked.chosen, options, (each) => each)
      say(io.stdout, requested.map((run) => requestedText(run, quick, configOption(file))).join(''))
      // A service said when to ask again, or the organization is paused.
      io.exitWith(requested.some(({ state }) => state === 'told-to-wait' || state === 'paused') ? 5 : 0)
    })
}

const TIMEOUT = durationArgument({ most: '20d', examples: '90s, 30m or 2h' })

const EXAMPLES = `
A worker that uses the same queue takes the job; 'customer-mirror runs' shows the result, and 'customer-mirror cancel' ends it.

Examples:
  $ customer-mirror run acme
  $ customer-mirror run acme globex --config /etc/customer-mirror.yaml
  $ customer-mirror run acme --quick
      who came and who left since the list was last read, in a few requests
  $ customer-mirror run acme --now
      the service is repaired: start the job that waits for its next attempt
  $ customer-mirror run acme --wait --timeout 2h
      wait for the end, in a script
`

/** `file`: the configuration as the user named it. */
type Asked = {
  config: Config
  file: string | undefined
  chosen: readonly string[]
  options: import('../../jobs/commands/run-and-wait.ts').RequestOptions
}

/** Requests runs, waits for their ends, and shows them as `sync` does, with its exit codes. */
async function waitForRuns({ config, file, chosen, options }: Asked, timeoutMs: number | undefined, io: Io) {
  const timeIsUp = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)]
  const { runAndWait } = await import('../../jobs/commands/run-and-wait.ts')
  const waited = await runAndWait(config, chosen, options, {
    signal: AbortSignal.any([io.signal, ...timeIsUp]),
    now: Date.now,
    monotonicMs,
    // None where the mirror is on another machine, or is not made yet.
    listRuns: (organization) =>
      withMirrorOf(config, (mirror) => mirror.listRuns({ organization, limit: LATEST_RUNS })).catch(() => []),
    onRequested: (requested) =>
      say(io.stderr, requested.map((run) => requestedText(run, options.kind === 'quick')).join('')),
    onNews: (id, news) => say(io.stderr, `${id}: ${newsWords(news)}; still waiting\n`),
  })
  const ended = waited.flatMap((each) => each.waited ?? [])
  const here = ended.flatMap(({ from, outcome: { report } }) => (from === 'mirror' ? [report] : []))
  // Where the mirror is on another machine, its held removals are looked up there.
  const held = here.length > 0 ? await listHeldRemovals(config) : []
  if (ended.length > 0) {
    const shown = { mirrorFile: shownMirror(config.mirror), screen: screenOf(io.stdout) }
    print(io.stdout, waitedText(ended, shown) + foundText(here))
    say(io.stderr, whatToDo({ outcomes: ended.map(({ outcome }) => outcome), held }, { config: file }))
  }
  const codes = waited.map(({ organization, waited: end }) => {
    if (end !== undefined) return end.from === 'none-possible' ? 6 : exitCodeOfRuns([end.outcome], held)
    const shown = (verb: string) => `'customer-mirror ${verb} ${organization}${configOption(file)}'`
    const goesOn = 'no longer waiting; its job goes on without this command'
    say(io.stderr, `${organization}: ${goesOn}. ${shown('runs')} shows it, and ${shown('cancel')} ends it\n`)
    return 5
  })
  io.exitWith(oneExitCode(codes))
}

/** Runs that may have ended between the end of a job and the look at the mirror. */
const LATEST_RUNS = 20

function newsWords(news: import('../../jobs/commands/run-and-wait.ts').WaitNews): string {
  if (news.news !== 'delayed') return NEWS[news.news]
  return `waits for its next attempt${news.reason === '' ? '' : ` after a failure (${news.reason})`}`
}

const NEWS = {
  'not-taken': "no worker has taken its job yet. Is one running with this queue? 'customer-mirror worker' starts one",
  'queue-lost': 'the queue does not answer. A run that is under way goes on meanwhile',
  'queue-back': 'the queue answers again',
} as const

/** Whether a job was added, or which one there is. Without an `option`, the advice for a pause follows. */
function requestedText(
  run: Omit<import('../../jobs/commands/run-and-wait.ts').RequestedRun, 'job'>,
  quick: boolean,
  option?: string,
): string {
  const { organization, added, state, untilMs } = run
  const words = () => {
    if (added) return quick ? 'quick run queued' : 'queued'
    if (state === 'paused') {
      const resume = option === undefined ? '' : `. First: customer-mirror resume ${organization}${option}`
      return `is paused${untilMs === undefined ? '' : ` until ${moment(untilMs)}`}; nothing was requested${resume}`
    }
    if (untilMs !== undefined)
      return `has a job that starts by itself at ${second(Math.ceil(untilMs / 1000) * 1000)} UTC: until then, its service asked to wait. Nothing was changed`
    return (quick ? QUICK_STATES : STATES)[state] ?? `has a job already (${state})`
  }
  return `${organization}: ${words()}\n`
}

const STATES: Readonly<Record<string, string>> = {
  active: 'is being mirrored at this moment',
  waiting: 'is queued already',
  started: 'has a job that waited; it starts now',
  delayed: 'has a job that waits for its next attempt; nothing was added. --now starts it',
  ended: 'had a job that ended just now; ask again for another run',
}

const QUICK_STATES: Readonly<Record<string, string>> = {
  ...STATES,
  active: 'has a quick run at this moment',
  'full-run': 'its whole list is being read, or is about to be; no quick run was added',
}

type WaitedOutcome = import('../../jobs/commands/run-and-wait.ts').WaitedOutcome

/** Runs of other processes: the table that `sync` shows, and a line for each run whose mirror is not on this machine. */
export function waitedText(
  waited: readonly WaitedOutcome[],
  { mirrorFile, screen }: { mirrorFile: string; screen: Screen | undefined },
): string {
  const isHere = ({ from, outcome }: WaitedOutcome) =>
    from === 'mirror' || (from === 'queue' && outcome.error !== undefined)
  const reports = waited.filter(isHere).map(({ outcome }) => outcome.report)
  const table = reports.length === 0 ? '' : `${runsTable(reports, screen)}\n`
  const place = waited.some(({ from }) => from === 'mirror') ? `Mirror: ${mirrorFile}\n` : ''
  return table + waited.map((each) => (isHere(each) ? '' : lineOf(each))).join('') + place
}

function lineOf({ outcome: { report }, from }: WaitedOutcome): string {
  const { organization, inserted, updated, rejected, removed, held, requests, durationMs } = report
  if (from === 'none-needed')
    return `${organization}: no run was made, because its list had been read since it was due.\n`
  if (from === 'none-possible')
    return `${organization}: no quick run was made, because a full run is under way, unfinished, or held by another process.\n`
  const changes = `${inserted} new, ${updated} changed, ${rejected} rejected, ${removed} removed, ${held} held`
  const cost = `${count(requests, 'request')} in ${duration(durationMs)}`
  const read = count(differentCustomers(report), 'customer')
  return `${organization}: complete: ${read}: ${changes} · ${cost}. Its mirror is not on this machine: look there for its proof.\n`
}

/** `customer-mirror cancel`: ends the run of an organization after its current pages. */
export function cancelCommand(io: Io) {
  return command('cancel', CANCEL_EXAMPLES)
    .argument('<organization...>', 'ids of organizations')
    .action(async (ids, { config: file }) => {
      const config = await namedConfig(file)
      const chosen = await chooseCancelled(config, ids)
      const waiting = { now: Date.now, monotonicMs, longestMs: LONGEST_MS, signal: io.signal }
      const { cancelRuns } = await import('../../jobs/cancel.ts')
      const cancelled = await cancelRuns(config, chosen, waiting)
      const underway = await listUnderway(config)
      const codes = cancelled.map(({ organization, end }): ExitCode => {
        // A run that goes on is made by no worker of this queue.
        const isEnding = end === 'ended' || end === 'unanswered'
        const elsewhere = underway.find((run) => !isEnding && run.organization === organization)
        const words = elsewhere === undefined ? ENDS[end] : elsewhereWords(elsewhere, end === 'removed')
        say(io.stdout, `${organization}: ${words.replace('<runs>', `runs ${organization}${configOption(file)}`)}\n`)
        return elsewhere !== undefined ? 6 : end === 'unanswered' ? 5 : 0
      })
      io.exitWith(oneExitCode(codes))
    })
}

/** A worker looks every second, and gives the pages under way five seconds; saving the last of a large list takes some more. */
const LONGEST_MS = 30_000

/** The named organizations: those of the configuration, and those that left it while they have a run or a job. */
async function chooseCancelled(config: Config, ids: readonly string[]): Promise<string[]> {
  const left = ids.filter((id) => config.organizations.every((organization) => organization.id !== id))
  if (left.length === 0 || !isSharedQueue(config.queue)) return chooseIds(config, ids)
  const { listJobs } = await import('../../jobs/commands/listed-queue.ts')
  const busy = [...(await listJobs(config)).jobs, ...(await listUnderway(config))].map((each) => each.organization)
  const leaving = left.filter((id) => busy.includes(id))
  const others = ids.filter((id) => !leaving.includes(id))
  return [...chooseIds(config, others), ...new Set(leaving)]
}

function elsewhereWords({ runId, holder }: LeasedRun, isRemoved: boolean): string {
  const before = isRemoved ? 'its job was taken out of the queue, but ' : ''
  return (
    `${before}run ${runId} is under way in ${processWords(holder)}, and is no job of a shared queue. Ctrl-C there, or ` +
    'SIGTERM, ends it after its current pages.'
  )
}

const ENDS: Readonly<Record<import('../../jobs/cancel.ts').CancelEnd, string>> = {
  ended:
    'cancelled. Its run ended after its current pages; what it read is saved, and the next run continues from there.',
  removed: 'cancelled. Its job was taken out of the queue; what was read before is saved.',
  'was-over': "its run had ended before it could be cancelled: 'customer-mirror <runs>' shows it.",
  nothing: 'nothing is under way, and nothing waits in the queue.',
  unanswered:
    'asked to end, but its worker has not ended it yet. It does as soon as it sees this, if it is a worker of this version: ' +
    "'customer-mirror <runs>' shows it.",
}

const CANCEL_EXAMPLES = `
The run ends as failed, with the error code cancelled. It is not retried: the next run is that of its schedule, or of 'customer-mirror run'. A job that waits in the queue is taken out of it.

Examples:
  $ customer-mirror cancel acme
  $ customer-mirror cancel acme globex
`
