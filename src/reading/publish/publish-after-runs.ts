import { describeError } from '../../errors.ts'
import { publishApart } from './publish-apart.ts'
import type { Published, PublishPlan } from './publish-plan.ts'

/**
 * Publishes after runs that are complete whatever becomes of it: a failure is returned, not thrown.
 */
export async function publishAfterRuns(plan: PublishPlan, { signal }: { signal: AbortSignal }): Promise<Published> {
  try {
    return await publishApart(plan, { signal })
  } catch (error) {
    return { copies: [], leftOut: [], failed: [{ file: plan.file, ...describeError(error) }], warnings: [] }
  }
}
