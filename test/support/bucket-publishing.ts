import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import type { BucketPlan } from '../../src/reading/publish/bucket/bucket-plan.ts'
import { openRowsReader } from '../../src/reading/publish/bucket/organization-rows.ts'
import { publishToBucket } from '../../src/reading/publish/bucket/publish-bucket.ts'
import { openS3Store, type StoreLimits } from '../../src/reading/publish/bucket/s3-store.ts'
import type { Published } from '../../src/reading/publish/publish-plan.ts'
import { BUCKET, type BucketServer } from './bucket-server.ts'
import { temporaryFolder } from './temp-folder.ts'

export const PREFIX = 'customer-mirror'

/** A plan for the bucket of a test. Nothing is kept for readers of the manifest from before that is older than this moment. */
export function aBucketPlan(mirror: string, overrides: Partial<BucketPlan> = {}): BucketPlan {
  return {
    mirror,
    to: { bucket: BUCKET, prefix: PREFIX },
    withoutPersonalData: false,
    organizations: [],
    afterRuns: false,
    graceMs: 0,
    ...overrides,
  }
}

export const SOON: StoreLimits = { requestMs: 60_000, attempts: 2, partBytes: 8 * 1024 * 1024 }

/** Publishes in this process. */
export async function publishInto(bucket: BucketServer, plan: BucketPlan, limits = SOON): Promise<Published> {
  const reader = openRowsReader(plan)
  const store = openS3Store(plan, bucket.env, limits)
  try {
    return await publishToBucket(plan, { store, reader })
  } finally {
    store.close()
    reader.close()
  }
}

const manifest = z.looseObject({
  generation: z.number(),
  organizations: z.array(z.looseObject({ organization: z.string(), object: z.string(), rows: z.number() })),
  replaced: z.array(z.string()),
})

/** What the manifest says. */
export function manifestIn({ objects }: BucketServer): z.output<typeof manifest> {
  return manifest.parse(JSON.parse(objects.get(`${PREFIX}/manifest.json`)?.toString() ?? 'null'))
}

/** The keys below the prefix, without the manifest. */
export function objectsIn({ objects }: BucketServer): string[] {
  return [...objects.keys()]
    .map((key) => key.slice(PREFIX.length + 1))
    .filter((key) => key !== 'manifest.json')
    .toSorted()
}

/** The keys that the manifest names, in the order of organizations. */
export function namedIn(bucket: BucketServer): string[] {
  return manifestIn(bucket).organizations.map(({ object }) => object)
}

/** The objects as files of a folder, for readers without a network. */
export function asFolder({ objects }: BucketServer): string {
  const folder = temporaryFolder()
  for (const [key, content] of objects) {
    const file = join(folder, key)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content)
  }
  return join(folder, PREFIX)
}
