import type { Config } from '../../config/read-config.ts'
import { configuredPlan, placeOf } from '../../reading/publish/configured-plan.ts'
import { checkTargets } from '../../reading/publish/publish-check.ts'
import { failedCheck, type Finding } from './finding.ts'
import { count } from '../output/wording.ts'
import { processEnvironment } from '../../config/environment.ts'
import type { BucketPlan } from '../../reading/publish/bucket/bucket-plan.ts'
import type { PublishPlan } from '../../reading/publish/publish-plan.ts'

/**
 * Whether the copy for readers could be made where the configuration says; nothing where it asks for none. A bucket is asked for by
 * one request that changes nothing.
 */
export async function* checkPublish(config: Config): AsyncGenerator<Finding> {
  const plan = configuredPlan(config)
  if (plan === undefined) return
  const what = 'publish'
  try {
    yield { what, said: 'file' in plan ? describeTargets(plan) : await answerOfBucket(plan) }
  } catch (error) {
    yield failedCheck(what, error)
  }
}

function describeTargets(plan: PublishPlan): string {
  const [first = plan.file, ...others] = checkTargets(plan)
  const more = others.length === 0 ? '' : ` and ${count(others.length, 'other copy', 'other copies')}`
  return `${first}${more} can be made`
}

/** The client of object storage is loaded only where it is needed. */
async function answerOfBucket(plan: BucketPlan): Promise<string> {
  const { openS3Store } = await import('../../reading/publish/bucket/s3-store.ts')
  const store = openS3Store(plan, processEnvironment())
  try {
    await store.ask()
    return `${placeOf(plan)} answered; what may be written there shows when it is published`
  } finally {
    store.close()
  }
}
