import type { Config } from '../src/config/read-config.ts'
import { staleCopies } from '../src/copies/build-copy.ts'
import { findRecorded } from '../src/copies/organizations.ts'
import { configuredPlans, publishAfterRuns, type Published, type TargetPlan } from '../src/copies/publish-plan.ts'
import { describeError } from '../src/errors/errors.ts'
import type { Logger } from '../src/machine/log.ts'
import type { Mirror } from '../src/store/mirror.ts'
import type { OverviewFacts } from '../src/status/overview.ts'
import { isOfService } from '../src/status/standing.ts'
import type { Timings } from './timings.ts'
import { repeatedly } from '../src/machine/timers.ts'

type Settings = {
  config: { readonly current: Config }
  mirror: Pick<Mirror, 'listUnderway'>
  /** Never rejects. */
  facts: () => Promise<OverviewFacts>
  log: Logger
  timings: Timings
  monotonicMs: () => number
}

/** Looks from now on, until it is stopped, whether a copy for readers is due, which is made in a process of its own. */
export function startPublisher({ config, mirror, facts, log, timings, monotonicMs }: Settings) {
  let [changedAtMs, endedAtMs, publishedAtMs]: (number | undefined)[] = []
  const stopping = new AbortController()

  const looking = repeatedly(timings.publishLookMs, async () => {
    if (stopping.signal.aborted || changedAtMs === undefined || config.current.publish === undefined) return
    const state = { isRunning: await isRunning(mirror, await facts()), changedAtMs, endedAtMs, publishedAtMs }
    if (!isPublishDue(state, monotonicMs(), timings)) return
    changedAtMs = undefined
    try {
      const stale = await listStale(config.current)
      if (stale.length > 0) {
        const published = await publishAfterRuns(stale, stopping)
        if (!stopping.signal.aborted) logPublished(log, published)
      }
    } catch (error) {
      log.error({ failure: describeError(error) }, 'copy not published')
    }
    publishedAtMs = monotonicMs()
  })
  return {
    runEnded(): void {
      endedAtMs = monotonicMs()
      changedAtMs ??= endedAtMs
    },
    /** To be called at the start and now and then: copies may lack runs of other processes, or may have failed. */
    compareSoon: () => void (changedAtMs ??= monotonicMs()),
    /** Ends a publish that is under way; the copies from before stay. */
    async stop(): Promise<void> {
      looking.stop()
      stopping.abort()
      await looking.now()
    },
  }
}

/** Whether a full run is under way in any process, and does not wait for its service: the copy does not wait for that. */
async function isRunning(mirror: Settings['mirror'], { organizations, ...at }: OverviewFacts): Promise<boolean> {
  const waiting = new Set(organizations.filter(({ wait }) => isOfService(wait)).map(({ id }) => id))
  const underway = await mirror.listUnderway(at)
  return underway.some(({ isPartial, organization }) => !isPartial && !waiting.has(organization))
}

/** The plans whose copies lack runs: a copy made again would push an older one out of `keep`. Buckets and Parquet files are compared later. */
async function listStale(config: Config): Promise<TargetPlan[]> {
  const recorded = await findRecorded(config.mirror)
  return configuredPlans(config).flatMap((plan): TargetPlan[] => {
    if (!('file' in plan)) return [plan]
    const only = staleCopies(plan, recorded)
    return only.length === 0 ? [] : [{ ...plan, only }]
  })
}

/** Whether a copy is to be made now: no run was under way for a while, or the first change is too old to wait. Times of a monotonic clock. */
export function isPublishDue(
  state: { isRunning: boolean; changedAtMs: number } & Record<'endedAtMs' | 'publishedAtMs', number | undefined>,
  nowMs: number,
  timings: Pick<Timings, 'publishQuietMs' | 'publishLatestMs' | 'publishRestMs'>,
): boolean {
  const { changedAtMs, endedAtMs = changedAtMs, publishedAtMs = -Infinity } = state
  if (nowMs - publishedAtMs < timings.publishRestMs) return false
  if (nowMs - changedAtMs >= timings.publishLatestMs) return true
  return !state.isRunning && nowMs - endedAtMs >= timings.publishQuietMs
}

/** What was published and what was not, in one line each: paths, ids and counts. */
function logPublished(log: Logger, { copies, leftOut, failed, warnings, parquet, bucket }: Published): void {
  for (const { file, bytes, sha256, organizations } of copies) {
    const customers = organizations.reduce((sum, organization) => sum + organization.customers, 0)
    log.info({ file, bytes, sha256, organizations: organizations.length, customers }, 'copy published')
  }
  for (const [said, place] of Object.entries({ 'folder published': parquet, 'bucket published': bucket })) {
    if (place?.isNew !== true) continue
    const { to, generation, gone, replaced } = place
    const objects = place.organizations.filter(({ isNew }) => isNew)
    const bytes = objects.reduce((sum, object) => sum + object.bytes, 0)
    const organizations = place.organizations.length
    log.info({ to, generation, objects: objects.length, bytes, organizations, gone, replaced }, said)
  }
  if (leftOut.length > 0) log.warn({ leftOut }, 'organizations left out of the copy')
  for (const failure of failed) log.error({ failure }, 'copy not published')
  for (const warning of warnings) log.warn({ warning }, 'copy warning')
}
