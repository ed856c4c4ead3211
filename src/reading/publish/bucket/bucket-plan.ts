import { z } from 'zod'
import { hiddenFields } from '../hidden-fields.ts'

/** What to publish into a bucket. Passed to the process that publishes as JSON, without credentials. */
export const bucketPlan = z.strictObject({
  mirror: z.string(),
  to: z.strictObject({ bucket: z.string(), prefix: z.string() }),
  endpoint: z.string().optional(),
  region: z.string().optional(),
  withoutPersonalData: z.boolean(),
  /** The organizations of the configuration: the objects of one that this mirror has not read yet stay. */
  organizations: z.array(z.string()),
  hidden: hiddenFields.optional(),
  /** Only what complete runs have changed since the last publish; otherwise whatever differs from the mirror. */
  afterRuns: z.boolean(),
  /** How long objects stay that a newer manifest no longer names, for readers that began with the one before. */
  graceMs: z.number(),
})
export type BucketPlan = z.output<typeof bucketPlan>

const publishedObject = z.strictObject({
  organization: z.string(),
  /** Its key below the prefix. */
  object: z.string(),
  /** Whether this publish wrote it; otherwise it is from before, and still what the mirror has. */
  isNew: z.boolean(),
  run: z.number(),
  proof: z.string(),
  readAsOf: z.string(),
  customers: z.number(),
  active: z.number(),
  bytes: z.number(),
  sha256: z.string(),
})

/** What a bucket holds after a publish. Ids, counts and keys only. */
export const publishedBucket = z.strictObject({
  to: z.string(),
  generation: z.number(),
  writtenAt: z.string(),
  /** Whether a manifest was written; not where the one from before says the same. */
  isNew: z.boolean(),
  organizations: z.array(publishedObject),
  /** Organizations whose objects are no longer named. */
  gone: z.array(z.string()),
  /** How many objects stay for readers that began with the manifest from before. */
  replaced: z.number(),
  /** Whether objects from before could not be removed just now, although these credentials may: the next publish does it. */
  isLeft: z.boolean(),
})
export type PublishedBucket = z.output<typeof publishedBucket>
