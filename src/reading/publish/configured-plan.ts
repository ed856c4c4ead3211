import type { Config } from '../../config/read-config.ts'
import type { PublishPlan } from './publish-plan.ts'

/** How long to wait for another process that publishes to the same folder, such as the worker. */
const LOCK_WAIT_MS = 60_000

/** The plan that a configuration asks for; undefined where it asks for none. `file` takes the place of the configured one. */
export function configuredPlan(config: Config, file = config.publish?.file): PublishPlan | undefined {
  if (file === undefined) return undefined
  const { group, keep, splitBy, withoutPersonalData = false } = config.publish ?? {}
  return {
    mirror: config.mirror,
    file,
    ...(group !== undefined && { group }),
    ...(keep !== undefined && { keep }),
    splitByOrganization: splitBy !== undefined,
    withoutPersonalData,
    organizations: config.organizations.map(({ id }) => id),
    lockWaitMs: LOCK_WAIT_MS,
  }
}
