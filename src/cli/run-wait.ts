import type { Organization } from '../config/organization.ts'
import type { Config } from '../config/read-config.ts'
import { monotonicMs } from '../machine/monotonic-clock.ts'
import type { Report } from '../report.ts'
import { exitCodeOfRuns, oneExitCode, type ExitCode } from './exit-code.ts'
import { screenOf, type Io } from './io.ts'
import { say } from './output/say.ts'
import { requestedText } from './output/requested-text.ts'
import { configOption } from './output/shell-word.ts'
import { waitedText } from './output/waited-text.ts'
import { listHeldRemovals, withMirrorOf } from './with-mirror.ts'
import { shownMirror } from '../address/mirror-address.ts'

type Asked = {
  config: Config
  /** As the user named it. */
  configFile: string | undefined
  organizations: readonly Organization[]
  timeoutMs: number | undefined
  quick?: true | undefined
  now?: true | undefined
}

type Waited = import('../../jobs/commands/run-and-wait.ts').Waited
type WaitNews = import('../../jobs/commands/wait-for-job.ts').WaitNews

/** Requests runs, waits for their ends, and shows them as `sync` does, with its exit codes. */
export async function waitForRuns(asked: Asked, io: Io): Promise<void> {
  const { config, organizations, timeoutMs, quick = false, now = false, configFile } = asked
  const { runAndWait } = await import('../../jobs/commands/run-and-wait.ts')
  const timeIsUp = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)]
  const ids = organizations.map(({ id }) => id)
  const sayOf = (id: string, words: string) => say(io.stderr, `${id}: ${words}\n`)
  const waited = await runAndWait(
    config,
    ids,
    { quick, now, clock: Date.now },
    {
      signal: AbortSignal.any([io.signal, ...timeIsUp]),
      now: Date.now,
      monotonicMs,
      listRuns: (organization) => listRuns(config, organization),
      onRequested: (requested) => say(io.stderr, requestedText(requested, { quick, wait: true })),
      onNews: (id, news) => sayOf(id, newsWords(news)),
    },
  )
  await showEnds(waited, asked, io)
  for (const { organization, waited: end } of waited)
    if (end === undefined) sayOf(organization, goesOn(organization, configOption(configFile)))
  io.exitWith(oneExitCode(waited.map(exitCodeOf)))
}

async function showEnds(waited: readonly Waited[], { config, organizations, configFile, quick }: Asked, io: Io) {
  const ended = waited.flatMap((each) => each.waited ?? [])
  if (ended.length === 0) return
  io.stdout.write(waitedText(ended, { mirrorFile: shownMirror(config.mirror), screen: screenOf(io.stdout) }))
  const [{ failureBlocks }, { heldWarning }] = await Promise.all([
    import('./output/failure-blocks.ts'),
    import('./output/held-warning.ts'),
  ])
  if (quick === true) {
    const { quickText, quickAdvice } = await import('./output/quick-text.ts')
    const reports = ended.flatMap(({ from, outcome: { report } }) => (from === 'mirror' ? [report] : []))
    io.stdout.write(quickText(reports))
    say(io.stderr, quickAdvice(reports, configFile))
  }
  const columns = screenOf(io.stderr)?.columns
  io.stderr.write(
    failureBlocks(
      ended.map(({ outcome }) => outcome),
      { organizations, columns, dryRun: false, config: configFile },
    ),
  )
  // Where the mirror is on another machine, its held removals are looked up there.
  if (ended.some(({ from }) => from === 'mirror'))
    io.stderr.write(heldWarning(await listHeldRemovals(config), configFile))
}

/** None where the mirror is on another machine, or is not made yet. */
async function listRuns(config: Config, organization: string): Promise<readonly Report[]> {
  return withMirrorOf(config, (mirror) => mirror.listRuns({ organization, limit: LATEST_RUNS })).catch(() => [])
}

/** Runs that may have ended between the end of a job and the look at the mirror. */
const LATEST_RUNS = 20

function exitCodeOf({ waited }: Waited): ExitCode {
  if (waited === undefined) return 5
  return waited.from === 'no-quick-run' ? 6 : exitCodeOfRuns([waited.outcome])
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
