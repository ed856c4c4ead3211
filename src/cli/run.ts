import { shownMirror } from '../address/mirror-address.ts'
import { command, durationArgument, listHeldRemovals, namedConfig, withMirrorOf } from './command.ts'
import { type ExitCode, exitCodeOfRuns, oneExitCode } from './exit-code.ts'
import { type Io, type Screen, screenOf } from './io.ts'
import { foundText, whatToDo } from './output/advice.ts'
import { differentCustomers, runsTable } from './output/run-words.ts'
import { configOption, count, duration, print, say } from './output/say.ts'
import type { Organization } from '../config/organization.ts'
import type { Config } from '../config/read-config.ts'
import { UsageError } from '../errors/errors.ts'
import { monotonicMs } from '../machine/timers.ts'
import type { HeldRemovals } from '../model/mirror.ts'
import type { Report } from '../model/report.ts'
import { moment, second } from '../text/wording.ts'

/** `customer-mirror run`: asks the worker for a run now. */
export function runCommand(io: Io) {
  return command('run', 'ask the worker to mirror organizations now', EXAMPLES)
    .argument('<organization...>', 'ids of organizations')
    .option('--quick', 'ask for a quick run: who came and who left, in a few requests')
    .option('--now', 'also start a job that waits for its next attempt, unless the service said when')
    .option('--wait', 'wait until the jobs have ended, and show their runs, with the exit codes of sync')
    .option('--timeout <time>', 'with --wait: stop waiting after so long, and end with 5: 90s, 30m, 2h', TIMEOUT)
    .action(async (ids, { wait, timeout: timeoutMs, config: file, quick, now }) => {
      if (timeoutMs !== undefined && !wait)
        throw new UsageError('--timeout is for --wait. Nothing was requested. Add --wait, or leave --timeout out.')
      const config = await namedConfig(file)
      const { chooseOrganizations } = await import('../config/organization.ts')
      const organizations = chooseOrganizations(config, ids)
      if (wait) return waitForRuns({ config, file, organizations, timeoutMs, quick, now }, io)
      const { requestRuns } = await import('../../jobs/commands/run-now.ts')
      const chosen = organizations.map(({ id }) => id)
      const options = { kind: kindOf(quick), now, clock: Date.now }
      const requested = await requestRuns(config, chosen, options, (each) => each)
      say(io.stdout, requestedText(requested, { quick, config: file }))
      // A service said when to ask again, or the organization is paused.
      io.exitWith(requested.some(({ state }) => state === 'told-to-wait' || state === 'paused') ? 5 : 0)
    })
}

function kindOf(quick: boolean | undefined) {
  return quick === true ? ('quick' as const) : ('sync' as const)
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

type Asked = {
  config: Config
  /** As the user named it. */
  file: string | undefined
  organizations: readonly Organization[]
  timeoutMs: number | undefined
  quick?: true | undefined
  now?: true | undefined
}

/** Requests runs, waits for their ends, and shows them as `sync` does, with its exit codes. */
async function waitForRuns({ config, file, organizations, timeoutMs, quick, now }: Asked, io: Io): Promise<void> {
  const { runAndWait } = await import('../../jobs/commands/run-and-wait.ts')
  const timeIsUp = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)]
  const ids = organizations.map(({ id }) => id)
  const sayOf = (id: string, words: string) => say(io.stderr, `${id}: ${words}\n`)
  const options = { kind: kindOf(quick), now, clock: Date.now }
  const waited = await runAndWait(config, ids, options, {
    signal: AbortSignal.any([io.signal, ...timeIsUp]),
    now: Date.now,
    monotonicMs,
    listRuns: (organization) => listRuns(config, organization),
    onRequested: (requested) => say(io.stderr, requestedText(requested, { quick, wait: true })),
    onNews: (id, news) => sayOf(id, newsWords(news)),
  })
  const ended = waited.flatMap((each) => each.waited ?? [])
  let held: HeldRemovals[] | undefined
  if (ended.length > 0) {
    const here = ended.flatMap(({ from, outcome: { report } }) => (from === 'mirror' ? [report] : []))
    print(io.stdout, waitedText(ended, { mirrorFile: shownMirror(config.mirror), screen: screenOf(io.stdout) }))
    print(io.stdout, foundText(here))
    // Where the mirror is on another machine, its held removals are looked up there.
    held = here.length > 0 ? await listHeldRemovals(config) : []
    const outcomes = ended.map(({ outcome }) => outcome)
    say(io.stderr, whatToDo({ outcomes, organizations, held }, { config: file }))
  }
  for (const { organization, waited: end } of waited)
    if (end === undefined) sayOf(organization, goesOn(organization, configOption(file)))
  io.exitWith(oneExitCode(waited.map((each) => exitCodeOf(each, held))))
}

type Waited = import('../../jobs/commands/run-and-wait.ts').Waited
type WaitNews = import('../../jobs/commands/run-and-wait.ts').WaitNews

/** None where the mirror is on another machine, or is not made yet. */
async function listRuns(config: Config, organization: string): Promise<readonly Report[]> {
  return withMirrorOf(config, (mirror) => mirror.listRuns({ organization, limit: LATEST_RUNS })).catch(() => [])
}

/** Runs that may have ended between the end of a job and the look at the mirror. */
const LATEST_RUNS = 20

function exitCodeOf({ waited }: Waited, held: readonly HeldRemovals[] | undefined): ExitCode {
  if (waited === undefined) return 5
  return waited.from === 'no-quick-run' ? 6 : exitCodeOfRuns([waited.outcome], held)
}

function newsWords(news: WaitNews): string {
  if (news.news !== 'delayed') return NEWS[news.news]
  return `waits for its next attempt${news.reason === '' ? '' : ` after a failure (${news.reason})`}; still waiting`
}

const NEWS = {
  'not-taken':
    "no worker has taken its job yet; still waiting. Is one running with this queue? 'customer-mirror worker' starts one",
  'queue-lost': 'the queue does not answer; still waiting. A run that is under way goes on meanwhile',
  'queue-back': 'the queue answers again',
} as const

function goesOn(organization: string, option: string): string {
  return (
    `no longer waiting; its job goes on without this command. 'customer-mirror runs ${organization}${option}' shows it, and ` +
    `'customer-mirror cancel ${organization}${option}' ends it`
  )
}

/** A requested run, as far as words need it. */
type Requested = Omit<import('../../jobs/commands/run-now.ts').RequestedRun, 'job'>

/** The options of the command. */
type Options = { quick?: boolean | undefined; wait?: boolean | undefined; config?: string | undefined }

/** One line for each requested run: whether a job was added, or which one there is. After `wait` the advice for a pause follows. */
function requestedText(requested: readonly Requested[], options: Options): string {
  return requested.map((run) => `${run.organization}: ${wordsOf(run, options)}\n`).join('')
}

function wordsOf({ organization, added, state, untilMs }: Requested, { quick = false, wait, config }: Options): string {
  if (added) return quick ? 'quick run queued' : 'queued'
  if (state === 'paused') {
    const until = untilMs === undefined ? '' : ` until ${moment(untilMs)}`
    const resume = wait ? '' : `. First: customer-mirror resume ${organization}${configOption(config)}`
    return `is paused${until}; nothing was requested${resume}`
  }
  if (untilMs !== undefined) {
    const until = second(Math.ceil(untilMs / 1000) * 1000)
    return `has a job that starts by itself at ${until} UTC: until then, its service asked to wait. Nothing was changed, because it would refuse an earlier request`
  }
  return (quick ? QUICK_STATES : STATES)[state] ?? `has a job already (${state})`
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
  const { organization } = report
  if (from === 'none-needed')
    return `${organization}: no run was made, because its list had been read since it was due.\n`
  if (from === 'no-quick-run')
    return `${organization}: no quick run was made, because a full run is under way, unfinished, or held by another process.\n`
  const { inserted, updated, rejected, removed, held, requests, durationMs } = report
  const changes = `${inserted} new, ${updated} changed, ${rejected} rejected, ${removed} removed, ${held} held`
  const cost = `${count(requests, 'request')} in ${duration(durationMs)}`
  const read = count(differentCustomers(report), 'customer')
  return `${organization}: complete: ${read}: ${changes} · ${cost}. Its mirror is not on this machine: look there for its proof.\n`
}
