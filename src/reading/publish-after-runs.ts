import type { Config } from '../config/read-config.ts'
import { describeError } from '../errors.ts'
import { configuredPlan } from './configured-plan.ts'
import { publishApart } from './publish-apart.ts'
import type { Published } from './publish-plan.ts'

/**
 * Publishes what the configuration asks for, after runs that are complete whatever becomes of it: a failure is returned, not
 * thrown. `only` names the files to make, if not all are. Undefined where no copy is configured.
 */
export async function publishAfterRuns(
  config: Config,
  { signal, only }: { signal: AbortSignal; only?: string[] },
): Promise<Published | undefined> {
  const plan = configuredPlan(config)
  if (plan === undefined) return undefined
  try {
    return await publishApart({ ...plan, only }, { signal })
  } catch (error) {
    return { copies: [], leftOut: [], failed: [{ file: plan.file, ...describeError(error) }], warnings: [] }
  }
}
