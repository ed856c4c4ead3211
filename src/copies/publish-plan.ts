import { processEnvironment } from '../config/environment.ts'
import type { BucketAddress, PublishSettings } from '../config/publish.ts'
import { bucketAddressText, isBucketAddress, parseBucketAddress } from '../config/publish.ts'
import type { Config } from '../config/read-config.ts'
import { copyFault } from './copy-error.ts'
import type { ReadState } from './organizations.ts'
import { describeError, Interrupted, reportedError, UsageError } from '../errors/errors.ts'
import { askApart } from '../machine/process-apart.ts'

/* What is published and where. Each target of the configuration has a plan, passed as JSON to the process that publishes. Paths are absolute. */

type CommonPlan = {
  mirror: string
  withoutPersonalData: boolean
  /** The organizations of the configuration: those that the mirror does not know yet are reported as left out. */
  organizations: string[]
  /** What it hides of each organization that has a privacy policy, as written there, and without its key. */
  hidden?: Readonly<Record<string, { drop: readonly string[]; hash: readonly string[] }>> | undefined
  /** Write only those objects that complete runs have changed since the last publish; otherwise all that differ from the mirror. */
  afterRuns?: boolean | undefined
}

export type PublishPlan = CommonPlan & {
  /** The copy; with `{organization}` in its name, one for each. */
  file: string
  /** The group that may read the copies: its name, which may hold `{organization}`, or its number. */
  group?: string | number | undefined
  /** How many older copies are kept; undefined leaves those that are there alone, and keeps none. */
  keep?: number | undefined
  /** Whether a page of figures is written beside each copy. */
  report?: boolean | undefined
  /** The files to make, of those that the plan names; without it, all of them. */
  only?: string[] | undefined
  /** How long to wait for another process that publishes there. */
  lockWaitMs: number
}

/** A Parquet file for each organization in a folder of this machine. */
export type FolderPlan = CommonPlan & { parquet: string; group?: string | number | undefined }

/** The same in a bucket, without credentials. `graceMs` is how long readers may read what is replaced. */
export type BucketPlan = CommonPlan & { to: BucketAddress; graceMs: number }

export type TargetPlan = PublishPlan | FolderPlan | BucketPlan

/** What the run found that read the list to its end last. Times are UTC, as in the mirror; the digest is of its customers, or of their object. */
type PublishedOrganization = Omit<ReadState, 'provenAsOf'> & {
  organization: string
  customers: number
  active: number
  sha256: string
}

/** `sha256` is the digest of the whole file. */
export type PublishedCopy = {
  file: string
  publishedAt: string
  bytes: number
  sha256: string
  organizations: (PublishedOrganization & { provenAsOf: string | null; changes: number; lastSeq: number })[]
}

/** What a folder or a bucket holds after a publish. Ids, counts and keys only. */
export type PublishedObjects = {
  to: string
  generation: number
  writtenAt: string
  /** Whether a manifest was written; not where the one from before says the same. */
  isNew: boolean
  /** `object` is a path in the folder, or a key below the prefix; `isNew` where this publish wrote it. */
  organizations: (PublishedOrganization & { object: string; isNew: boolean; bytes: number })[]
  /** Organizations whose objects are no longer named. */
  gone: string[]
  /** How many objects stay for readers that began with the manifest from before. */
  replaced: number
  /** Whether objects from before could not be removed just now, although these credentials may: the next publish does it. */
  isLeft: boolean
}

export type Published = {
  copies: PublishedCopy[]
  parquet?: PublishedObjects
  bucket?: PublishedObjects
  /** Organizations that are in no copy. */
  leftOut: { organization: string; reason: 'never-read' }[]
  /** Copies that could not be made; those published before stay as they were. */
  failed: { file: string; code: string; message: string }[]
  /** What an administrator should look at, although the copies were made. */
  warnings: string[]
}

const LOCK_WAIT_MS = 60_000
const GRACE_MS = 600_000

/** The plans of a configuration, maybe none. `place`, a file or an address in object storage, replaces those. Throws UsageError for a bad address. */
export function configuredPlans(config: Config, place?: string): TargetPlan[] {
  const configured: Partial<PublishSettings> = config.publish ?? {}
  const { group, keep, report, withoutPersonalData = false, ...settings } = configured
  const { file, parquet, to }: Partial<PublishSettings> =
    place === undefined ? settings : isBucketAddress(place) ? { to: addressOf(place) } : { file: place }
  const shared = {
    mirror: config.mirror,
    withoutPersonalData,
    organizations: config.organizations.map(({ id }) => id),
    hidden: Object.fromEntries(
      config.organizations.flatMap(({ id, privacy }) =>
        privacy === undefined ? [] : [[id, { drop: privacy.drop, hash: privacy.hash }]],
      ),
    ),
  }
  return [
    ...(file === undefined ? [] : [{ ...shared, group, file, keep, report, lockWaitMs: LOCK_WAIT_MS }]),
    ...(parquet === undefined ? [] : [{ ...shared, group, parquet }]),
    ...(to === undefined ? [] : [{ ...shared, to, graceMs: GRACE_MS }]),
  ]
}

/** What to say of copies that only their owner may read, although readers are what they are for; undefined where others may, and of a bucket. */
export function ownerAlone(plan: TargetPlan): { said: string; fix: string } | undefined {
  if ('to' in plan || plan.withoutPersonalData || plan.group !== undefined) return undefined
  return {
    said: 'only its owner may read it',
    fix: 'name the group of its readers as publish.group, or let all users read it with publish.withoutPersonalData: true.',
  }
}

export function planPlace(plan: TargetPlan): string {
  return 'file' in plan ? plan.file : 'parquet' in plan ? plan.parquet : bucketAddressText(plan.to)
}

function addressOf(place: string): BucketAddress {
  const parsed = parseBucketAddress(place)
  if ('problem' in parsed) throw new UsageError(`${place}: ${parsed.problem}.`)
  return parsed
}

type Stopping = { signal: AbortSignal }

export type Answer = { published: Published } | { error: { code: string; message: string } }

/** Publishes in a process of its own. An abort kills it; the next publish removes what it left. Throws as publishing, and Interrupted. */
export async function publishApart(plans: readonly TargetPlan[], { signal }: Stopping): Promise<Published> {
  const asked = { env: processEnvironment(), signal }
  const { said, ending } = await askApart('report/publish-process', JSON.stringify(plans), asked)
  if (signal.aborted) throw new Interrupted(`Publishing was stopped as asked. ${WHOLE}`)
  if (ending !== undefined)
    throw copyFault('the process that publishes', { fault: 'gone', said: `was ended (${ending})` }, { kept: WHOLE })
  const answer: Answer = JSON.parse(said)
  if ('error' in answer) throw reportedError(answer.error)
  return answer.published
}

/** Some of several copies may be in their places already. */
const WHOLE = 'What readers find is whole: each copy is the one from before, or a new one.'

/** Publishes after runs that are complete whatever becomes of it: a failure is returned, not thrown. */
export async function publishAfterRuns(plans: readonly TargetPlan[], stopping: Stopping): Promise<Published> {
  const after = plans.map((plan) => ({ ...plan, afterRuns: true }))
  return publishApart(after, stopping).catch((error: unknown) => {
    const failed = plans.map((plan) => ({ file: planPlace(plan), ...describeError(error) }))
    return { copies: [], leftOut: [], failed, warnings: [] }
  })
}
