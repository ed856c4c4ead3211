import { bucketAddressText, isBucketAddress, parseBucketAddress } from '../../config/bucket.ts'
import type { Config } from '../../config/read-config.ts'
import { UsageError } from '../../errors/errors.ts'
import type { BucketPlan } from './bucket/bucket-plan.ts'
import { hiddenIn } from './hidden-fields.ts'
import type { AnyPlan } from './publish-plan.ts'

/** How long to wait for another process that publishes to the same folder, such as the worker. */
const LOCK_WAIT_MS = 60_000

/** How long readers of a bucket may read what is replaced. */
const GRACE_MS = 600_000

/**
 * The plan that a configuration asks for; undefined where it asks for none. `place`, a file or an address in object storage, takes the
 * place of the configured one. Throws UsageError for such an address with a mistake.
 */
export function configuredPlan(config: Config, place?: string): AnyPlan | undefined {
  if (place !== undefined && isBucketAddress(place)) return planOfBucket(config, addressOf(place))
  if (place === undefined && config.publish?.to !== undefined) return planOfBucket(config, config.publish.to)
  const file = place ?? config.publish?.file
  if (file === undefined) return undefined
  const { group, keep, splitBy } = config.publish ?? {}
  return {
    ...whatToPublish(config),
    file,
    ...(group !== undefined && { group }),
    ...(keep !== undefined && { keep }),
    splitByOrganization: splitBy !== undefined,
    lockWaitMs: LOCK_WAIT_MS,
  }
}

/** Where a plan publishes, as a person writes it. */
export function placeOf(plan: AnyPlan): string {
  return 'file' in plan ? plan.file : bucketAddressText(plan.to)
}

function planOfBucket(config: Config, to: BucketPlan['to']): BucketPlan {
  const { endpoint, region } = config.publish ?? {}
  return {
    ...whatToPublish(config),
    to,
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    afterRuns: false,
    graceMs: GRACE_MS,
  }
}

/** The part of a plan that does not depend on its place. */
function whatToPublish(config: Config) {
  const hidden = hiddenIn(config)
  return {
    mirror: config.mirror,
    withoutPersonalData: config.publish?.withoutPersonalData ?? false,
    organizations: config.organizations.map(({ id }) => id),
    ...(hidden !== undefined && { hidden }),
  }
}

function addressOf(place: string): BucketPlan['to'] {
  const parsed = parseBucketAddress(place)
  if ('problem' in parsed) throw new UsageError(`${place}: ${parsed.problem}.`)
  return parsed
}
