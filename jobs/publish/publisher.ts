import type { Config } from '../../src/config/read-config.ts'
import { describeError } from '../../src/errors/errors.ts'
import type { Logger } from '../../src/machine/log.ts'
import { configuredPlans, placeOf, type Published, type TargetPlan } from '../../src/copies/publish-plan.ts'
import { logPublished, publishAfterRuns } from '../../src/copies/publish-apart.ts'
import { findRecorded, type Recorded } from '../../src/copies/organizations.ts'
import type { Timings } from '../timings.ts'
import { staleCopies } from '../../src/copies/copy-manifest.ts'

/** Makes the copies for readers beside the runs of a worker, in a process of their own. */
export type Publisher = ReturnType<typeof startPublisher>

type Settings = {
  config: { readonly current: Config }
  log: Logger
  timings: Timings
  monotonicMs: () => number
}

/** Looks from now on, until it is stopped, whether a copy is due. */
export function startPublisher({ config, log, timings, monotonicMs }: Settings) {
  const state: PublishState = {
    running: new Set(),
    changedAtMs: undefined,
    endedAtMs: undefined,
    publishedAtMs: undefined,
  }
  const waiting = new Set<string>()
  const stopping = new AbortController()
  let underWay: Promise<void> | undefined
  const memory = new PublishMemory()

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
      const done = await publishStale(configuredPlans(config.current), memory, stopping.signal)
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
    runStarted: (organization: string) => void state.running.add(organization),
    /** Its run waits for the service: the copy does not wait for it. */
    runWaits: (organization: string) => void (state.running.delete(organization) && waiting.add(organization)),
    /** Its service answers again. */
    runGoesOn: (organization: string) => void (waiting.delete(organization) && state.running.add(organization)),
    runEnded(organization: string): void {
      state.running.delete(organization)
      waiting.delete(organization)
      state.endedAtMs = monotonicMs()
      state.changedAtMs ??= state.endedAtMs
    },
    /** To be called at the start and now and then: the copies may lack runs of other processes, or of a worker that was killed. */
    compareSoon: () => void (state.changedAtMs ??= monotonicMs()),
    /** Ends a publish that is under way; the copies from before stay. */
    async stop(): Promise<void> {
      clearInterval(looking)
      stopping.abort()
      await underWay
    },
  }
}

/** Publishes what lacks runs, and says whether something is to be tidied later; undefined where nothing lacks any. */
async function publishStale(
  plans: readonly TargetPlan[],
  memory: PublishMemory,
  signal: AbortSignal,
): Promise<[Published, boolean] | undefined> {
  const [first] = plans
  if (first === undefined) return undefined
  // Another worker, or a command, may have published these runs: to make a copy again would push an older one out of `keep`
  // for an equal one.
  const recorded = await findRecorded(first.mirror)
  const stale = plans.flatMap((plan): TargetPlan[] => {
    if (!('file' in plan)) return memory.isUpToDate(plan, recorded) ? [] : [plan]
    const only = staleCopies(plan, recorded)
    return only.length === 0 ? [] : [{ ...plan, only }]
  })
  if (stale.length === 0) return undefined
  return memory.publish(stale, recorded, (due) => publishAfterRuns(due, { signal }))
}

/** What a worker knows of its runs and its copies. Times are milliseconds of a monotonic clock. */
export type PublishState = {
  /** Organizations whose runs are under way. */
  running: Set<string>
  /** When the first change was made that is in no copy; undefined if there is none. */
  changedAtMs: number | undefined
  /** When the last run ended; undefined before the first. */
  endedAtMs: number | undefined
  /** When the last attempt to publish ended; undefined before the first. */
  publishedAtMs: number | undefined
}

type Limits = Pick<Timings, 'publishQuietMs' | 'publishLatestMs' | 'publishRestMs'>

/**
 * Whether a copy is to be made now: something changed, the last attempt is long enough ago, and either the runs of a night are
 * over, which is when none was under way for a while, or they go on for too long to wait for that.
 */
export function isDue(
  { running, changedAtMs, endedAtMs, publishedAtMs }: Readonly<PublishState>,
  nowMs: number,
  { publishQuietMs, publishLatestMs, publishRestMs }: Limits,
): boolean {
  if (changedAtMs === undefined) return false
  if (publishedAtMs !== undefined && nowMs - publishedAtMs < publishRestMs) return false
  if (nowMs - changedAtMs >= publishLatestMs) return true
  return running.size === 0 && nowMs - (endedAtMs ?? changedAtMs) >= publishQuietMs
}

/** What a bucket and a folder of Parquet files hold since this worker published there last, so that they are not looked through every few minutes. */
export class PublishMemory {
  readonly #held = new Map<string, string>()

  /** Whether the mirror records nothing that this worker did not publish there. */
  isUpToDate(plan: TargetPlan, recorded: Recorded): boolean {
    return this.#held.get(placeOf(plan)) === stateOf(plan, recorded)
  }

  /** Publishes, and returns whether objects stay that are to be removed later: readers have their time for them, or the service failed. */
  async publish(
    plans: readonly TargetPlan[],
    recorded: Recorded,
    publish: (plans: readonly TargetPlan[]) => Promise<Published>,
  ): Promise<[Published, boolean]> {
    for (const plan of plans) this.#held.delete(placeOf(plan))
    const published = await publish(plans)
    const { replaced = 0, isLeft = false } = published.bucket ?? {}
    const isSettled = replaced === 0 && !isLeft
    if (isSettled && published.failed.length === 0)
      for (const plan of plans) this.#held.set(placeOf(plan), stateOf(plan, recorded))
    return [published, !isSettled]
  }
}

/** Changes with another run, organization or setting, and where a customer was forgotten or an organization retired without a run. */
function stateOf(plan: TargetPlan, recorded: Recorded): string {
  return JSON.stringify([plan, recorded])
}
