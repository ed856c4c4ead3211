import type { AnyPlan, Published } from '../../src/reading/publish/publish-plan.ts'
import { listLastRuns } from '../../src/reading/publish/stale-copy.ts'

/** What a bucket holds since this worker published into it last, so that it is not asked every few minutes. */
export class BucketMemory {
  #held: string | undefined

  /** Whether the mirror has nothing that this worker did not publish there. Throws MirrorUnusable. */
  isUpToDate(plan: AnyPlan): boolean {
    return !('file' in plan) && this.#held === stateOf(plan)
  }

  /** Publishes, and returns whether objects stay that are to be removed later, when readers of the manifest from before had their time. */
  async publish(plan: AnyPlan, publish: (plan: AnyPlan) => Promise<Published>): Promise<[Published, boolean]> {
    const state = 'file' in plan ? undefined : stateOf(plan)
    this.#held = undefined
    const published = await publish(plan)
    const isSettled = (published.bucket?.replaced ?? 0) === 0
    if (isSettled && published.failed.length === 0) this.#held = state
    return [published, !isSettled]
  }
}

/** Changes with another run, organization or setting. */
function stateOf(plan: AnyPlan): string {
  const runs = listLastRuns(plan.mirror)
  return JSON.stringify([plan, runs.map(({ organization, runId, status }) => [organization, runId, status])])
}
