import { z } from 'zod'
import { bucketPlan, publishedBucket } from './bucket/bucket-plan.ts'
import { hiddenFields } from './hidden-fields.ts'

/** What to publish, and where. Paths are absolute. Passed to the process that publishes as JSON. */
const publishPlan = z.strictObject({
  mirror: z.string(),
  /** The copy; with `splitByOrganization` it may hold `{organization}`. */
  file: z.string(),
  /** The group that may read the copies: its name, which may hold `{organization}`, or its number. */
  group: z.union([z.string(), z.number()]).optional(),
  /** How many older copies are kept; undefined leaves those that are there alone, and keeps none. */
  keep: z.number().optional(),
  splitByOrganization: z.boolean(),
  /** The files to make, of those that the plan names; without it, all of them. */
  only: z.array(z.string()).optional(),
  withoutPersonalData: z.boolean(),
  /** The organizations of the configuration: those that the mirror does not know yet are reported as left out. */
  organizations: z.array(z.string()),
  hidden: hiddenFields.optional(),
  /** How long to wait for another process that publishes to the same folder. */
  lockWaitMs: z.number(),
})
export type PublishPlan = z.output<typeof publishPlan>

/** What to publish, into files or into a bucket. */
export const anyPlan = z.union([publishPlan, bucketPlan])
export type AnyPlan = z.output<typeof anyPlan>

const publishedOrganization = z.strictObject({
  organization: z.string(),
  /** The run that read the list to its end last. */
  run: z.number(),
  proof: z.string(),
  /** Times are UTC, as in the mirror. */
  readAsOf: z.string(),
  provenAsOf: z.string().nullable(),
  customers: z.number(),
  active: z.number(),
  changes: z.number(),
  lastSeq: z.number(),
  sha256: z.string(),
})

const publishedCopy = z.strictObject({
  file: z.string(),
  publishedAt: z.string(),
  bytes: z.number(),
  /** The digest of the whole file, as in the file beside it. */
  sha256: z.string(),
  organizations: z.array(publishedOrganization),
})
export type PublishedCopy = z.output<typeof publishedCopy>

const leftOut = z.strictObject({ organization: z.string(), reason: z.literal('never-read') })
export type LeftOut = z.output<typeof leftOut>

/** What was published. Ids, counts and paths only. */
export const published = z.strictObject({
  copies: z.array(publishedCopy),
  /** Organizations that are in no copy. */
  leftOut: z.array(leftOut),
  /** Copies that could not be made; those published before stay as they were. */
  failed: z.array(z.strictObject({ file: z.string(), code: z.string(), message: z.string() })),
  /** What an administrator should look at, although the copies were made. */
  warnings: z.array(z.string()),
  /** The bucket, where that is where they go: there are no copies in files then. */
  bucket: publishedBucket.optional(),
})
export type Published = z.output<typeof published>
