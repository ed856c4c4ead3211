import { isSharedQueue } from '../address/mirror-address.ts'
import type { Config } from '../config/read-config.ts'
import { processWords } from '../machine/process-name.ts'
import { monotonicMs } from '../machine/timers.ts'
import type { LeasedRun } from '../model/report.ts'
import { command, listUnderway, namedConfig } from './command.ts'
import { type ExitCode, oneExitCode } from './exit-code.ts'
import type { Io } from './io.ts'
import { configOption, say } from './output/say.ts'

/** `customer-mirror cancel`: ends the run of an organization after its current pages. */
export function cancelCommand(io: Io) {
  return command('cancel', EXAMPLES)
    .argument('<organization...>', 'ids of organizations')
    .action(async (ids, { config: file }) => {
      const config = await namedConfig(file)
      const { cancelRuns } = await import('../../jobs/commands/cancel-runs.ts')
      const waiting = { now: Date.now, monotonicMs, longestMs: LONGEST_MS, signal: io.signal }
      const before = await findUnderway(config)
      const organizations = await chooseCancelled(config, ids, before)
      const alone = isSharedQueue(config.queue) ? [] : organizations.filter((id) => before.has(id))
      const cancelled =
        alone.length > 0
          ? alone.map((organization) => ({ organization, end: 'nothing' as const }))
          : await cancelRuns(config, organizations, waiting)
      const underway = alone.length > 0 ? before : await findUnderway(config)
      const codes = cancelled.map(({ organization, end }): ExitCode => {
        // A run that no worker of this queue makes.
        const elsewhere = end === 'ended' || end === 'unanswered' ? undefined : underway.get(organization)
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
async function chooseCancelled(
  config: Config,
  ids: readonly string[],
  underway: ReadonlyMap<string, LeasedRun>,
): Promise<string[]> {
  const { chooseIds } = await import('../config/organization.ts')
  const left = ids.filter((id) => config.organizations.every((organization) => organization.id !== id))
  const queued = left.length > 0 && isSharedQueue(config.queue) ? await listQueued(config) : []
  const leaving = left.filter((id) => underway.has(id) || queued.includes(id))
  const others = ids.filter((id) => !leaving.includes(id))
  return [...chooseIds(config, others), ...new Set(leaving)]
}

async function listQueued(config: Config): Promise<string[]> {
  const { listJobs } = await import('../../jobs/commands/listed-queue.ts')
  return (await listJobs(config)).jobs.map(({ organization }) => organization)
}

/** The runs under way by organization, as far as this machine knows them. */
async function findUnderway(config: Config): Promise<Map<string, LeasedRun>> {
  return new Map((await listUnderway(config)).map((run) => [run.organization, run]))
}

function elsewhereWords({ runId, holder }: LeasedRun, isRemoved: boolean): string {
  const before = isRemoved ? 'its job was taken out of the queue, but ' : ''
  return (
    `${before}run ${runId} is under way in ${processWords(holder)}, and is no job of a shared queue. Ctrl-C there, or ` +
    'SIGTERM, ends it after its current pages.'
  )
}

const ENDS: Readonly<Record<import('../../jobs/commands/cancel-runs.ts').CancelEnd, string>> = {
  ended:
    'cancelled. Its run ended after its current pages; what it read is saved, and the next run continues from there.',
  removed: 'cancelled. Its job was taken out of the queue; what was read before is saved.',
  'was-over': "its run had ended before it could be cancelled: 'customer-mirror <runs>' shows it.",
  nothing: 'nothing is under way, and nothing waits in the queue.',
  unanswered:
    'asked to end, but its worker has not ended it yet. It does as soon as it sees this, if it is a worker of this version: ' +
    "'customer-mirror <runs>' shows it.",
}

const EXAMPLES = `
The run ends as failed, with the error code cancelled. It is not retried: the next run is that of its schedule, or of 'customer-mirror run'. A job that waits in the queue is taken out of it.

Examples:
  $ customer-mirror cancel acme
  $ customer-mirror cancel acme globex
`
