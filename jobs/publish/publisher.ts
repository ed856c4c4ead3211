import type { Config } from '../../src/config/read-config.ts'
import { describeError } from '../../src/errors/errors.ts'
import type { Logger } from '../../src/log.ts'
import { configuredPlan } from '../../src/reading/publish/configured-plan.ts'
import { logPublished } from '../../src/reading/publish/log-published.ts'
import type { AnyPlan, Published } from '../../src/reading/publish/publish-plan.ts'
import { publishAfterRuns } from '../../src/reading/publish/publish-after-runs.ts'
import { findRecorded } from '../../src/reading/publish/recorded-runs.ts'
import { staleCopies } from '../../src/reading/publish/stale-copy.ts'
import type { Timings } from '../timings.ts'
import { BucketMemory } from './bucket-memory.ts'
import { isDue, type PublishState } from './publish-due.ts'

/** Makes the copies for readers beside the runs of a worker, in a process of their own. */
export type Publisher = {
  runStarted(organization: string): void
  runEnded(organization: string): void
  /** To be called at the start and now and then: the copies may lack runs of other processes, or of a worker that was killed. */
  compareSoon(): void
  /** Ends a publish that is under way; the copies from before stay. */
  stop(): Promise<void>
}

type Settings = {
  config: { readonly current: Config }
  log: Logger
  timings: Timings
  monotonicMs: () => number
}

/** Looks from now on, until it is stopped, whether a copy is due. */
export function startPublisher({ config, log, timings, monotonicMs }: Settings): Publisher {
  const state: PublishState = {
    running: new Set(),
    changedAtMs: undefined,
    endedAtMs: undefined,
    publishedAtMs: undefined,
  }
  const stopping = new AbortController()
  let underWay: Promise<void> | undefined
  const bucket = new BucketMemory()

  function look(): void {
    if (underWay !== undefined || config.current.publish === undefined) return
    if (!isDue(state, monotonicMs(), timings)) return
    underWay = publish().finally(() => {
      underWay = undefined
    })
  }

  async function publish(): Promise<void> {
    const { changedAtMs } = state
    state.changedAtMs = undefined
    try {
      const plan = configuredPlan(config.current)
      if (plan === undefined) return
      const done = await publishStale(plan, bucket, stopping.signal)
      if (done === undefined) return
      const [published, isToBeTidied] = done
      if (stopping.signal.aborted) return
      logPublished(log, published)
      if (published.failed.length > 0 || isToBeTidied) state.changedAtMs ??= changedAtMs
    } catch (error) {
      log.error({ failure: describeError(error) }, 'copy not published')
      state.changedAtMs ??= changedAtMs
    }
    state.publishedAtMs = monotonicMs()
  }

  const looking = setInterval(look, timings.publishLookMs)
  return {
    runStarted: (organization) => void state.running.add(organization),
    runEnded(organization) {
      state.running.delete(organization)
      state.endedAtMs = monotonicMs()
      state.changedAtMs ??= state.endedAtMs
    },
    compareSoon() {
      state.changedAtMs ??= monotonicMs()
    },
    async stop() {
      clearInterval(looking)
      stopping.abort()
      await underWay
    },
  }
}

/** Publishes what lacks runs; undefined where nothing does. */
async function publishStale(
  plan: AnyPlan,
  bucket: BucketMemory,
  signal: AbortSignal,
): Promise<[Published, boolean] | undefined> {
  // Another worker, or a command, may have published these runs: to make a copy again would push an older one out of `keep`
  // for an equal one.
  const recorded = await findRecorded(plan.mirror)
  const only = staleCopies(plan, recorded)
  if (only.length === 0 || bucket.isUpToDate(plan, recorded)) return undefined
  return bucket.publish('file' in plan ? { ...plan, only } : plan, recorded, (what) =>
    publishAfterRuns(what, { signal }),
  )
}
