import { shownMirror } from '../address/mirror-address.ts'
import type { Organization } from '../config/organization.ts'
import type { Config } from '../config/read-config.ts'
import { UsageError } from '../errors/errors.ts'
import { monotonicMs } from '../machine/timers.ts'
import { command, durationArgument, listHeldRemovals, namedConfig, withMirrorOf } from './command.ts'
import { exitCodeOfRuns, oneExitCode } from './exit-code.ts'
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
      const { chooseOrganizations } = await import('../config/organization.ts')
      const organizations = chooseOrganizations(config, ids)
      if (wait) return waitForRuns({ config, file, organizations, timeoutMs, quick, now }, io)
      const { requestRuns } = await import('../../jobs/commands/run-and-wait.ts')
      const chosen = organizations.map(({ id }) => id)
      const options = { kind: quick ? ('quick' as const) : ('sync' as const), now, clock: Date.now }
      const requested = await requestRuns(config, chosen, options, (each) => each)
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

type Asked = {
  config: Config
  /** As the user named it. */
  file: string | undefined
  organizations: readonly Organization[]
  timeoutMs: number | undefined
  quick: boolean
  now?: true | undefined
}

/** Requests runs, waits for their ends, and shows them as `sync` does, with its exit codes. */
async function waitForRuns({ config, file, organizations, timeoutMs, quick, now }: Asked, io: Io): Promise<void> {
  const { runAndWait } = await import('../../jobs/commands/run-and-wait.ts')
  const timeIsUp = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)]
  const ids = organizations.map(({ id }) => id)
  const options = { kind: quick ? ('quick' as const) : ('sync' as const), now, clock: Date.now }
  const waited = await runAndWait(config, ids, options, {
    signal: AbortSignal.any([io.signal, ...timeIsUp]),
    now: Date.now,
    monotonicMs,
    // None where the mirror is on another machine, or is not made yet.
    listRuns: (organization) =>
      withMirrorOf(config, (mirror) => mirror.listRuns({ organization, limit: LATEST_RUNS })).catch(() => []),
    onRequested: (requested) => say(io.stderr, requested.map((run) => requestedText(run, quick)).join('')),
    onNews: (id, news) => say(io.stderr, `${id}: ${newsWords(news)}; still waiting\n`),
  })
  const ended = waited.flatMap((each) => each.waited ?? [])
  const here = ended.flatMap(({ from, outcome: { report } }) => (from === 'mirror' ? [report] : []))
  // Where the mirror is on another machine, its held removals are looked up there.
  const held = here.length > 0 ? await listHeldRemovals(config) : []
  if (ended.length > 0) {
    print(io.stdout, waitedText(ended, { mirrorFile: shownMirror(config.mirror), screen: screenOf(io.stdout) }))
    print(io.stdout, foundText(here))
    const outcomes = ended.map(({ outcome }) => outcome)
    say(io.stderr, whatToDo({ outcomes, held }, { config: file }))
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

type WaitNews = import('../../jobs/commands/run-and-wait.ts').WaitNews

/** Runs that may have ended between the end of a job and the look at the mirror. */
const LATEST_RUNS = 20

function newsWords(news: WaitNews): string {
  if (news.news !== 'delayed') return NEWS[news.news]
  return `waits for its next attempt${news.reason === '' ? '' : ` after a failure (${news.reason})`}`
}

const NEWS = {
  'not-taken': "no worker has taken its job yet. Is one running with this queue? 'customer-mirror worker' starts one",
  'queue-lost': 'the queue does not answer. A run that is under way goes on meanwhile',
  'queue-back': 'the queue answers again',
} as const

type Requested = Omit<import('../../jobs/commands/run-and-wait.ts').RequestedRun, 'job'>

/** Whether a job was added, or which one there is. Without an `option`, the advice for a pause follows. */
function requestedText({ organization, added, state, untilMs }: Requested, quick: boolean, option?: string): string {
  if (added) return `${organization}: ${quick ? 'quick run queued' : 'queued'}\n`
  if (state === 'paused') {
    const until = untilMs === undefined ? '' : ` until ${moment(untilMs)}`
    const resume = option === undefined ? '' : `. First: customer-mirror resume ${organization}${option}`
    return `${organization}: is paused${until}; nothing was requested${resume}\n`
  }
  if (untilMs !== undefined) {
    const until = second(Math.ceil(untilMs / 1000) * 1000)
    return (
      `${organization}: has a job that starts by itself at ${until} UTC: until then, its service asked to wait. Nothing was changed, ` +
      'because it would refuse an earlier request\n'
    )
  }
  return `${organization}: ${(quick ? QUICK_STATES : STATES)[state] ?? `has a job already (${state})`}\n`
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
