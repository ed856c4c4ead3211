import pLimit from 'p-limit'
import { shownMirror } from '../address/mirror-address.ts'
import { chooseOrganizations, type Organization } from '../config/organization.ts'
import { configuredPlans, type Published, type TargetPlan } from '../copies/publish-plan.ts'
import { describeError, isOurs } from '../errors/errors.ts'
import type { Logger } from '../machine/log.ts'
import { monotonicMs } from '../machine/timers.ts'
import type { HeldRemovals, Mirror } from '../model/mirror.ts'
import { hasChangedCustomers } from '../model/report.ts'
import { openMirror, rehearseMirror } from '../store/mirror.ts'
import { openAwaited } from '../sync/await-mirror.ts'
import type { Outcome } from '../sync/mirror-organization.ts'
import { runOrganization, type Talk } from '../sync/run-organization.ts'
import { namedConfig } from './command.ts'
import type { Io } from './io.ts'
import { liveProgress, type Reporter } from './output/live-lines.ts'
import { duration, say } from './output/say.ts'

export type SyncOptions = {
  config?: string | undefined
  dryRun?: true | undefined
  limitPages?: number | undefined
  isPartial?: true | undefined
  /** Takes all that is said beside the results. */
  log?: Logger | undefined
}

/** The outcome of each organization, in order, and the removals that wait for a decision; undefined if unknown. */
type Synced = {
  outcomes: Outcome[]
  organizations: readonly Organization[]
  held: HeldRemovals[] | undefined
  mirrorFile: string
  /** Undefined where no copy for readers is configured. */
  published: Published | undefined
}

/** Organizations that are mirrored at the same time. */
const AT_ONCE = 8

/** Mirrors the named organizations, or all, in parallel. Returns their outcomes in order. */
export async function syncOrganizations(
  ids: readonly string[],
  { config: file, dryRun, limitPages, isPartial, log }: SyncOptions,
  { signal, stderr }: Pick<Io, 'signal' | 'stderr'>,
): Promise<Synced> {
  const config = await namedConfig(file)
  const organizations = chooseOrganizations(config, ids)
  const mirror = await openInTime(config.mirror, { organizations, dryRun, isPartial, signal, stderr, log })
  const rateLimits = new Map()
  const listHeld = () => mirror.listHeldRemovals().catch(() => undefined)
  try {
    // Removals that a dry run would hold back cannot be approved, so only earlier ones are listed.
    const heldBefore = dryRun ? await listHeld() : undefined
    const reporter = log === undefined ? await reporterFor(organizations, stderr, signal) : loggedEvents(log)
    const outcomes = await runAll(organizations, reporter, (organization, talk) =>
      runOrganization(organization, {
        ...{ mirror, rateLimits, isPartial, signal, trigger: 'sync', pageLimit: limitPages },
        ...{ longestWaitMs: organization.maxWaitMs, now: Date.now, monotonicMs, random: Math.random },
        ...talk,
      }),
    )
    const held = dryRun ? heldBefore : await listHeld()
    if (log !== undefined) logHeld(log, held)
    const plans = configuredPlans(config)
    // A copy after each partial run that found nothing would be in vain.
    const isNew = !isPartial || outcomes.some(({ report }) => hasChangedCustomers(report))
    const isPublished = plans.length > 0 && !dryRun && !signal.aborted && isNew
    const published = isPublished ? await publish(plans, signal, log) : undefined
    return { outcomes, organizations, held, mirrorFile: shownMirror(config.mirror), published }
  } finally {
    await mirror.close()
  }
}

/** The mirror, or for a dry run a private copy. While its server is away, it waits as long as a run. */
function openInTime(
  address: string,
  { organizations, dryRun, isPartial, signal, stderr, log }: Opening,
): Promise<Mirror> {
  const ids = organizations.map(({ id }) => id)
  const open = () =>
    dryRun ? rehearseMirror(address, ids, { withLists: isPartial === true }) : openMirror(address, { signal })
  const onAway = (error: unknown, longestWaitMs: number) =>
    log === undefined
      ? say(
          stderr,
          `${describeError(error).message}\nWaiting for it, ${duration(longestWaitMs)} at most. Ctrl-C ends this.\n`,
        )
      : log.warn({ error: describeError(error), longestWaitMs }, 'mirror awaited')
  return openAwaited(open, { organizations, monotonicMs, random: Math.random, signal, onAway })
}

type Opening = Pick<SyncOptions, 'dryRun' | 'isPartial' | 'log'> &
  Pick<Io, 'signal' | 'stderr'> & { organizations: readonly Organization[] }

/** Runs every organization and reports what becomes of each. A failure does not stop the others. */
async function runAll(
  organizations: readonly Organization[],
  reporter: Reporter,
  work: (organization: Organization, talk: Talk) => Promise<Outcome>,
): Promise<Outcome[]> {
  const runs = organizations.map((organization) => async () => {
    const run = reporter.began(organization.id)
    const outcome = await work(organization, run)
    run.ended(outcome)
    return outcome
  })
  const settled = await Promise.allSettled(runs.map(pLimit(AT_ONCE)))
  reporter.close()
  return settled.map((each) => {
    if (each.status === 'rejected') throw each.reason
    return each.value
  })
}

/** Live lines on a terminal. Without one nothing is written: cron mails every word. */
async function reporterFor(organizations: readonly Organization[], stderr: NodeJS.WritableStream, stop: AbortSignal) {
  const ids = organizations.map(({ id }) => id)
  return (await liveProgress(ids, stderr, stop)) ?? { began: () => SILENT, close: () => {} }
}

const SILENT = { onProgress: () => {}, onEvent: () => {}, ended: () => {} }

/** Loaded only where a copy is configured. */
async function publish(plans: readonly TargetPlan[], signal: AbortSignal, log: Logger | undefined): Promise<Published> {
  const { logPublished, publishAfterRuns } = await import('../copies/publish-apart.ts')
  const published = await publishAfterRuns(plans, { signal })
  if (log !== undefined) logPublished(log, published)
  return published
}

/** With a log, all that is said beside the results is in it, so that every line of it can be read by a program. */
function loggedEvents(log: Logger): Reporter {
  return {
    began: (organization) => ({
      ...SILENT,
      onEvent: (event) => log.info({ organization, event }, 'run slowed down'),
      ended: (outcome) => logOutcome(log, outcome),
    }),
    close: () => {},
  }
}

function logOutcome(log: Logger, { report, error }: Outcome): void {
  if (error === undefined) log[report.pruned?.error === undefined ? 'info' : 'warn']({ report }, 'run complete')
  else if (isOurs(error)) log.error({ report }, `run ${report.status}`)
  else log.error({ report, err: error }, 'run failed unexpectedly')
}

function logHeld(log: Logger, held: Synced['held']): void {
  if (held === undefined) log.warn('cannot look up held removals')
  for (const { organization, held: removals, runId } of held ?? [])
    log.warn({ organization, held: removals, heldBy: runId }, 'removals held back')
}
