import type { AnyPlan, Published } from '../../src/reading/publish/publish-plan.ts'
import type { Recorded } from '../../src/reading/publish/recorded-runs.ts'

/** What a bucket holds since this worker published into it last, so that it is not asked every few minutes. */
export class BucketMemory {
  #held: string | undefined

  /** Whether the mirror records nothing that this worker did not publish there. */
  isUpToDate(plan: AnyPlan, recorded: Recorded): boolean {
    return !('file' in plan) && this.#held === stateOf(plan, recorded)
  }

  /** Publishes, and returns whether objects stay that are to be removed later: readers have their time for them, or the service failed. */
  async publish(
    plan: AnyPlan,
    recorded: Recorded,
    publish: (plan: AnyPlan) => Promise<Published>,
  ): Promise<[Published, boolean]> {
    const state = 'file' in plan ? undefined : stateOf(plan, recorded)
    this.#held = undefined
    const published = await publish(plan)
    const { replaced = 0, isLeft = false } = published.bucket ?? {}
    const isSettled = replaced === 0 && !isLeft
    if (isSettled && published.failed.length === 0) this.#held = state
    return [published, !isSettled]
  }
}

/** Changes with another run, organization or setting, and where a customer was forgotten or an organization retired without a run. */
function stateOf(plan: AnyPlan, { lastRuns }: Recorded): string {
  return JSON.stringify([plan, lastRuns.map((last) => ({ ...last, latestId: undefined }))])
}
