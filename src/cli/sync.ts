import { Option } from '@commander-js/extra-typings'
import pLimit from 'p-limit'
import { shownMirror } from '../address/mirror-address.ts'
import { closing, command, logLevelOption, namedConfig, wholeNumber } from './command.ts'
import { exitCodeOf, exitCodeOfRuns, exitCodesText } from './exit-code.ts'
import { type Io, isTerminal, screenOf } from './io.ts'
import { exitCodeWithCopies, failedText, foundText, publishedText, whatToDo } from './output/advice.ts'
import { liveProgress, type Reporter } from './output/live-lines.ts'
import { runsTable } from './output/run-words.ts'
import { duration, jsonDocument, print, say } from './output/say.ts'
import { chooseOrganizations, type Organization } from '../config/organization.ts'
import { configuredPlans, logPublished, publishAfterRuns } from '../copies/publish-plan.ts'
import { describeError, isOurs } from '../errors/errors.ts'
import type { Logger } from '../machine/log.ts'
import { monotonicMs } from '../machine/timers.ts'
import type { HeldRemovals, Mirror } from '../model/mirror.ts'
import { hasChangedCustomers, toJson } from '../model/report.ts'
import { openMirror, rehearseMirror } from '../store/mirror.ts'
import { openAwaited } from '../sync/await-mirror.ts'
import type { Outcome } from '../sync/mirror-organization.ts'
import { runOrganization } from '../sync/run-organization.ts'

/** `customer-mirror sync`: mirrors organizations now, without any queue. */
export function syncCommand(io: Io) {
  return command('sync', EXAMPLES + exitCodesText())
    .argument('[organization...]', 'ids of organizations')
    .option('--json', 'print the reports as one JSON document, on one line for a file or a pipe')
    .option('--dry-run', 'read everything and report what would change, but write nothing')
    .option('--limit-pages <number>', 'stop after this many pages of each organization', wholeNumber({ least: 1 }))
    .addOption(
      new Option('--quick', 'only look for who came and who left, in a few requests; removes no customer').conflicts(
        'limitPages',
      ),
    )
    .addOption(logLevelOption('log JSON lines to stderr, and nothing else'))
    .action(async (ids, { logLevel, quick, ...asked }) => {
      const options = { ...asked, isPartial: quick }
      if (logLevel === undefined) return sync(ids, options, io)
      // Loaded only by those who ask for a log. An error before the sync starts is logged as well.
      const { createLog } = await import('../machine/log.ts')
      const log = createLog({ level: logLevel, stream: io.stderr })
      await sync(ids, { ...options, log }, io).catch((error: unknown) => {
        log.error({ error: describeError(error), ...(!isOurs(error) && { err: error }) }, 'sync failed')
        io.exitWith(exitCodeOf(error))
      })
    })
}

const EXAMPLES = `
Examples:
  $ customer-mirror sync
      mirror every organization of the configuration
  $ customer-mirror sync acme --dry-run --json
      report, as JSON, what mirroring acme would change, and change nothing
  $ customer-mirror sync acme --quick
      between nights: save who came and mark who left, in a few requests
`

async function sync(ids: readonly string[], options: SyncOptions & { json?: true | undefined }, io: Io): Promise<void> {
  const { outcomes, held, mirrorFile, published } = await syncOrganizations(ids, options, io)
  const reports = outcomes.map(({ report }) => report)
  if (options.json) {
    // A dry run is not stored: its number belongs to another run of the mirror.
    const runs = reports.map((report) => ({ ...toJson(report), ...(options.dryRun && { runId: null }) }))
    const document = { runs, ...(published !== undefined && { published }) }
    io.stdout.write(jsonDocument(document, { onOneLine: !isTerminal(io.stdout) }))
  } else {
    const where = options.dryRun ? 'Dry run: nothing was written.' : `Mirror: ${mirrorFile}`
    print(io.stdout, `${runsTable(reports, screenOf(io.stdout))}\n${foundText(reports)}${where}\n`)
    if (published !== undefined) print(io.stdout, publishedText(published))
  }
  if (options.log === undefined)
    say(io.stderr, whatToDo({ outcomes, held }, options) + (published === undefined ? '' : failedText(published)))
  const code = exitCodeOfRuns(outcomes, held)
  io.exitWith(published === undefined ? code : exitCodeWithCopies(code, published))
}

type SyncOptions = {
  config?: string | undefined
  dryRun?: true | undefined
  limitPages?: number | undefined
  isPartial?: true | undefined
  /** Takes all that is said beside the results. */
  log?: Logger | undefined
}

/** Organizations that are mirrored at the same time. */
const AT_ONCE = 8

/**
 * Mirrors the named organizations, or all, in parallel, and publishes what is configured. Returns their outcomes in order, and the removals that
 * wait for a decision, undefined where these cannot be looked up. A failure does not stop the others.
 */
export async function syncOrganizations(
  ids: readonly string[],
  options: SyncOptions,
  { signal, stderr }: Pick<Io, 'signal' | 'stderr'>,
) {
  const { config: file, dryRun, limitPages: pageLimit, isPartial, log } = options
  const config = await namedConfig(file)
  const organizations = chooseOrganizations(config, ids)
  return closing(await openInTime(config.mirror, organizations, options, { signal, stderr }), async (mirror) => {
    const rateLimits = new Map()
    const listHeld = () => mirror.listHeldRemovals().catch(() => undefined)
    // Removals that a dry run would hold back cannot be approved, so only earlier ones are listed.
    const heldBefore = dryRun ? await listHeld() : undefined
    const chosen = organizations.map(({ id }) => id)
    const reporter = log ? loggedEvents(log) : ((await liveProgress(chosen, stderr, signal)) ?? SILENT)
    const inTurn = pLimit(AT_ONCE)
    const runs = organizations.map((organization) =>
      inTurn(async () => {
        const reported = reporter.began(organization.id)
        const outcome = await runOrganization(organization, {
          ...{ mirror, rateLimits, isPartial, signal, trigger: 'sync', pageLimit },
          ...{ longestWaitMs: organization.maxWaitMs, now: Date.now, monotonicMs, random: Math.random },
          ...reported,
        })
        reported.ended(outcome)
        return outcome
      }),
    )
    await Promise.allSettled(runs)
    reporter.close()
    const outcomes = await Promise.all(runs)
    const held = dryRun ? heldBefore : await listHeld()
    if (log !== undefined) logHeld(log, held)
    const plans = configuredPlans(config)
    // A copy after each partial run that found nothing would be in vain.
    const isNew = !isPartial || outcomes.some(({ report }) => hasChangedCustomers(report))
    const isPublished = plans.length > 0 && !dryRun && !signal.aborted && isNew
    const published = isPublished ? await publishAfterRuns(plans, { signal }) : undefined
    if (log !== undefined && published !== undefined) logPublished(log, published)
    return { outcomes, held, mirrorFile: shownMirror(config.mirror), published }
  })
}

/** The mirror, or for a dry run a private copy. While its server is away, it waits as long as a run. */
function openInTime(
  address: string,
  organizations: readonly Organization[],
  { dryRun, isPartial, log }: SyncOptions,
  { signal, stderr }: Pick<Io, 'signal' | 'stderr'>,
): Promise<Mirror> {
  const ids = organizations.map(({ id }) => id)
  const open = () =>
    dryRun ? rehearseMirror(address, ids, { withLists: isPartial === true }) : openMirror(address, { signal })
  const onAway = (error: unknown, longestWaitMs: number) => {
    const told = describeError(error)
    if (log !== undefined) log.warn({ error: told, longestWaitMs }, 'mirror awaited')
    else say(stderr, `${told.message}\nWaiting for it, ${duration(longestWaitMs)} at most. Ctrl-C ends this.\n`)
  }
  return openAwaited(open, { organizations, monotonicMs, random: Math.random, signal, onAway })
}

const NOTHING = { onProgress: () => {}, onEvent: () => {}, ended: () => {} }

/** Without a terminal nothing is written: cron mails every word. */
const SILENT: Reporter = { began: () => NOTHING, close: () => {} }

/** With a log, all that is said beside the results is in it, so that every line of it can be read by a program. */
function loggedEvents(log: Logger): Reporter {
  return {
    ...SILENT,
    began: (organization) => ({
      ...NOTHING,
      onEvent: (event) => log.info({ organization, event }, 'run slowed down'),
      ended: (outcome) => logOutcome(log, outcome),
    }),
  }
}

function logOutcome(log: Logger, { report, error }: Outcome): void {
  if (error === undefined) log[report.pruned?.error === undefined ? 'info' : 'warn']({ report }, 'run complete')
  else if (isOurs(error)) log.error({ report }, `run ${report.status}`)
  else log.error({ report, err: error }, 'run failed unexpectedly')
}

function logHeld(log: Logger, held: readonly HeldRemovals[] | undefined): void {
  if (held === undefined) log.warn('cannot look up held removals')
  for (const { organization, held: removals, runId } of held ?? [])
    log.warn({ organization, held: removals, heldBy: runId }, 'removals held back')
}
