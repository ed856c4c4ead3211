import { processEnvironment } from '../../../config/environment.ts'
import type { Published } from '../publish-plan.ts'
import type { BucketPlan } from './bucket-plan.ts'
import { openRowsReader } from './organization-rows.ts'
import { publishToBucket } from './publish-bucket.ts'
import { openS3Store } from './s3-store.ts'

/** Publishes into the bucket of a plan, with the credentials of this process. Throws as publishToBucket does. */
export async function publishBucket(plan: BucketPlan): Promise<Published> {
  const reader = openRowsReader(plan)
  const store = openS3Store(plan, processEnvironment())
  try {
    return await publishToBucket(plan, { store, reader })
  } finally {
    store.close()
    reader.close()
  }
}
