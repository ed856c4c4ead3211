import { describeError } from '../../errors/errors.ts'
import { publishApart } from './publish-apart.ts'
import { placeOf } from './configured-plan.ts'
import type { AnyPlan, Published } from './publish-plan.ts'

/**
 * Publishes after runs that are complete whatever becomes of it: a failure is returned, not thrown.
 */
export async function publishAfterRuns(plan: AnyPlan, { signal }: { signal: AbortSignal }): Promise<Published> {
  try {
    return await publishApart('file' in plan ? plan : { ...plan, afterRuns: true }, { signal })
  } catch (error) {
    return { copies: [], leftOut: [], failed: [{ file: placeOf(plan), ...describeError(error) }], warnings: [] }
  }
}
