import { z } from 'zod'
import { bucketAddressText, isBucketAddress, parseBucketAddress } from '../config/publish.ts'
import type { Config } from '../config/read-config.ts'
import type { PublishSettings } from '../config/publish.ts'
import { UsageError } from '../errors/errors.ts'

/*
 * What is published and where: the configuration names a file, a folder for Parquet, a bucket, or several of them, and each has a plan of its
 * own. Plans are passed as JSON to the process that publishes, and what was published comes back. Paths are absolute.
 */

const fields = z.array(z.string()).readonly()

const common = {
  mirror: z.string(),
  withoutPersonalData: z.boolean(),
  /** The organizations of the configuration: those that the mirror does not know yet are reported as left out. */
  organizations: z.array(z.string()),
  /** What it hides of each organization that has a privacy policy, as written there, and without its key. */
  hidden: z.record(z.string(), z.strictObject({ drop: fields, hash: fields })).optional(),
  /** Write only those objects that complete runs have changed since the last publish; otherwise all that differ from the mirror. */
  afterRuns: z.boolean().optional(),
}

const filePlan = z.strictObject({
  ...common,
  /** The copy; with `{organization}` in its name, one for each. */
  file: z.string(),
  /** The group that may read the copies: its name, which may hold `{organization}`, or its number. */
  group: z.union([z.string(), z.number()]).optional(),
  /** How many older copies are kept; undefined leaves those that are there alone, and keeps none. */
  keep: z.number().optional(),
  /** The files to make, of those that the plan names; without it, all of them. */
  only: z.array(z.string()).optional(),
  /** How long to wait for another process that publishes there. */
  lockWaitMs: z.number(),
})
/** A copy in a file of SQLite. */
export type PublishPlan = z.output<typeof filePlan>

const folderPlan = z.strictObject({
  ...common,
  parquet: z.string(),
  group: z.union([z.string(), z.number()]).optional(),
})
/** A Parquet file for each organization in a folder of this machine. */
export type FolderPlan = z.output<typeof folderPlan>

const bucketPlan = z.strictObject({
  ...common,
  to: z.strictObject({ bucket: z.string(), prefix: z.string() }),
  /** How long objects stay that a newer manifest no longer names, for readers that began with the one before. */
  graceMs: z.number(),
})
/** The same in a bucket, without credentials. */
export type BucketPlan = z.output<typeof bucketPlan>

const targetPlan = z.union([filePlan, folderPlan, bucketPlan])
export type TargetPlan = z.output<typeof targetPlan>

/** All plans of a configuration are for one mirror. */
export const publishPlans = z.tuple([targetPlan]).rest(targetPlan)

const publishedOrganization = {
  organization: z.string(),
  /** The run that read the list to its end last. */
  run: z.number(),
  proof: z.string(),
  /** Times are UTC, as in the mirror. */
  readAsOf: z.string(),
  customers: z.number(),
  active: z.number(),
}

const publishedCopy = z.strictObject({
  file: z.string(),
  publishedAt: z.string(),
  bytes: z.number(),
  /** The digest of the whole file, as in the file beside it. */
  sha256: z.string(),
  organizations: z.array(
    z.strictObject({
      ...publishedOrganization,
      provenAsOf: z.string().nullable(),
      changes: z.number(),
      lastSeq: z.number(),
      sha256: z.string(),
    }),
  ),
})
export type PublishedCopy = z.output<typeof publishedCopy>

/** What a folder or a bucket holds after a publish. Ids, counts and keys only. */
const publishedObjects = z.strictObject({
  to: z.string(),
  generation: z.number(),
  writtenAt: z.string(),
  /** Whether a manifest was written; not where the one from before says the same. */
  isNew: z.boolean(),
  organizations: z.array(
    z.strictObject({
      ...publishedOrganization,
      /** Its path in the folder, or its key below the prefix. */
      object: z.string(),
      /** Whether this publish wrote it; otherwise it is from before, and still what the mirror has. */
      isNew: z.boolean(),
      bytes: z.number(),
      sha256: z.string(),
    }),
  ),
  /** Organizations whose objects are no longer named. */
  gone: z.array(z.string()),
  /** How many objects stay for readers that began with the manifest from before. */
  replaced: z.number(),
  /** Whether objects from before could not be removed just now, although these credentials may: the next publish does it. */
  isLeft: z.boolean(),
})

export type PublishedObjects = z.output<typeof publishedObjects>

const leftOut = z.strictObject({ organization: z.string(), reason: z.literal('never-read') })
export type LeftOut = z.output<typeof leftOut>

/** What was published. Ids, counts and paths only. */
export const published = z.strictObject({
  copies: z.array(publishedCopy),
  /** The folder of Parquet files, and the bucket, where there are such targets. */
  parquet: publishedObjects.optional(),
  bucket: publishedObjects.optional(),
  /** Organizations that are in no copy. */
  leftOut: z.array(leftOut),
  /** Copies that could not be made; those published before stay as they were. */
  failed: z.array(z.strictObject({ file: z.string(), code: z.string(), message: z.string() })),
  /** What an administrator should look at, although the copies were made. */
  warnings: z.array(z.string()),
})
export type Published = z.output<typeof published>

/** How long to wait for another process that publishes to the same place, such as the worker. */
const LOCK_WAIT_MS = 60_000

/** How long readers of a bucket may read what is replaced. */
const GRACE_MS = 600_000

/**
 * The plans that a configuration asks for; none where it asks for no copy. `place`, a file or an address in object storage, takes the
 * place of the configured ones. Throws UsageError for such an address with a mistake.
 */
export function configuredPlans(config: Config, place?: string): TargetPlan[] {
  const settings: Partial<PublishSettings> = config.publish ?? {}
  const { group, keep, withoutPersonalData = false } = settings
  const { file, parquet, to }: Partial<PublishSettings> =
    place === undefined ? settings : isBucketAddress(place) ? { to: addressOf(place) } : { file: place }
  const hidden = config.organizations.flatMap(({ id, privacy }) =>
    privacy === undefined ? [] : [[id, { drop: privacy.drop, hash: privacy.hash }] as const],
  )
  const shared = {
    mirror: config.mirror,
    withoutPersonalData,
    organizations: config.organizations.map(({ id }) => id),
    hidden: hidden.length === 0 ? undefined : Object.fromEntries(hidden),
  }
  return [
    ...(file === undefined ? [] : [{ ...shared, group, file, keep, lockWaitMs: LOCK_WAIT_MS }]),
    ...(parquet === undefined ? [] : [{ ...shared, group, parquet }]),
    ...(to === undefined ? [] : [{ ...shared, to, graceMs: GRACE_MS }]),
  ]
}

/** Where a plan publishes, as a person writes it. */
export function placeOf(plan: TargetPlan): string {
  return 'file' in plan ? plan.file : 'parquet' in plan ? plan.parquet : bucketAddressText(plan.to)
}

function addressOf(place: string): BucketPlan['to'] {
  const parsed = parseBucketAddress(place)
  if ('problem' in parsed) throw new UsageError(`${place}: ${parsed.problem}.`)
  return parsed
}
