import { createHash } from 'node:crypto'
import type { Environment } from '../../config/environment.ts'
import { CopyFailed, describeError, factsOf, isOurs } from '../../errors/errors.ts'
import type { Connection } from '../../store/sqlite/connect.ts'
import { isoOf } from '../../time/moments.ts'
import { atPlace } from '../copy-error.ts'
import { beginExport } from '../export-rows.ts'
import { inOneState, nowIn, numberIn, type OpenedToRead, openToRead } from '../open-to-read.ts'
import { isRead, type ReadOrganization, recordedIn } from '../organizations.ts'
import { parquetFormat } from '../parquet.ts'
import type { BucketPlan, FolderPlan, LeftOut, Published, PublishedObjects } from '../publish-plan.ts'
import { accessOf, requireSafeFolder, unreachableFolder } from '../target-place.ts'
import { lookAtFolder } from './folder.ts'
import { type FoundPlace, type Manifest, type NewObject, publishedIn, type PublishedObject } from './object-place.ts'
import type { ObjectStore } from './s3-store.ts'

type ObjectsPlan = FolderPlan | BucketPlan

/**
 * Publishes the customers of each organization as a Parquet file in a folder. A reader finds the file from before or the new one. Throws UsageError,
 * before anything is written, for a folder that is not safe or holds something else, CopyFailed, and MirrorUnusable.
 */
export async function publishFolder(plan: FolderPlan): Promise<Published> {
  const { parquet: folder, mirror } = plan
  atPlace(folder, () => requireSafeFolder(folder, mirror))
  const access = accessOf(plan)
  const { objects: parquet, ...done } = await publishObjects(plan, async () =>
    lookAtFolder(folder, { extension: 'parquet', access }),
  )
  const warning = unreachableFolder(`${folder}/_manifest.json`, access)
  return { ...done, parquet, warnings: [...done.warnings, ...(warning === undefined ? [] : [warning])] }
}

/** Publishes into the bucket of a plan, with the credentials of the environment. Throws as publishToBucket does. */
export async function publishBucket(plan: BucketPlan, environment: Environment): Promise<Published> {
  const { openS3Store } = await import('./s3-store.ts')
  const store = openS3Store(plan, environment)
  try {
    return await publishToBucket(plan, store)
  } finally {
    store.close()
  }
}

/**
 * Publishes the customers of each organization as an object, and then the manifest that names them all: a reader that begins with the
 * manifest finds the set from before or the new one, whenever this process ends. Throws UsageError for a prefix with a manifest of another program,
 * CopyFailed for what the service refuses or cannot do, and MirrorUnusable.
 */
export async function publishToBucket(plan: BucketPlan, store: ObjectStore): Promise<Published> {
  const { lookAtBucket } = await import('./bucket.ts')
  const { objects: bucket, ...done } = await publishObjects(plan, () => lookAtBucket(store))
  return { ...done, bucket }
}

type Done = Omit<Published, 'parquet' | 'bucket'> & { objects: PublishedObjects }

/** How often it is begun anew because something changed there meanwhile. */
const ATTEMPTS = 5

/** What was written for nothing, because something changed there meanwhile, is removed by the next publish. */
async function publishObjects(plan: ObjectsPlan, look: () => Promise<FoundPlace>): Promise<Done> {
  const opened = openToRead(plan.mirror, { asMade: true })
  try {
    for (let attempt = 1; ; attempt += 1) {
      const place = await look()
      try {
        return await publishOnce(plan, place, opened)
      } catch (error) {
        if (!(error instanceof CopyFailed && error.code === 'busy') || attempt === ATTEMPTS) throw error
      } finally {
        place.close()
      }
    }
  } finally {
    opened.close()
  }
}

async function publishOnce(plan: ObjectsPlan, place: FoundPlace, opened: OpenedToRead): Promise<Done> {
  const { manifest: before } = place
  const { entries, made, leftOut, failed } = await choose(plan, place, opened)
  const content = contentOf(plan, entries, { place, writtenAt: isoOf(nowIn(opened.db)) })
  const isNew = before === undefined || made.size > 0 || factsOfManifest(before) !== factsOfManifest(content)
  const { warnings, isLeft } = await place.finish(content, isNew)
  const { generation = 0, written_at: writtenAt = '' } = isNew ? content : before
  const there = new Set(entries.map(({ organization }) => organization))
  const objects = {
    ...{ to: place.shown, generation, writtenAt, isNew },
    organizations: entries.map((entry) => describe(entry, made)),
    gone: (before?.organizations ?? []).map(({ organization }) => organization).filter((id) => !there.has(id)),
    ...{ replaced: content.replaced.length, isLeft },
  }
  return { copies: [], leftOut, failed, warnings, objects }
}

function describe(entry: PublishedObject, made: ReadonlySet<string>): PublishedObjects['organizations'][number] {
  const { organization, object, run, proof, read_as_of: readAsOf, rows: customers, active, bytes, sha256 } = entry
  return { organization, object, isNew: made.has(organization), run, proof, readAsOf, customers, active, bytes, sha256 }
}

/** What a manifest says, but for its number and its time. */
function factsOfManifest({ without_personal_data, organizations, replaced }: ReturnType<typeof contentOf> | Manifest) {
  return JSON.stringify([without_personal_data, organizations.length, publishedIn({ organizations }), replaced])
}

/**
 * Objects that the new manifest does not name stay for readers that began with one before, until that is a while ago; not those of
 * an organization that is gone, nor those with personal data where there is to be none.
 */
function contentOf(
  plan: ObjectsPlan,
  entries: PublishedObject[],
  { place: { generation, manifest: before }, writtenAt }: { place: FoundPlace; writtenAt: string },
) {
  const graceMs = 'to' in plan ? plan.graceMs : 0
  const named = new Set(entries.map(({ object }) => object))
  const organizations = new Set(entries.map(({ organization }) => organization))
  const folders = new Set(entries.map(({ object }) => folderOf(object)))
  const stay = before?.without_personal_data === plan.withoutPersonalData ? before : undefined
  const replacedNow = (stay?.organizations ?? [])
    .filter(({ organization }) => organizations.has(organization))
    .map(({ object }) => ({ object, since: writtenAt }))
  const isRecent = (since = '') => Math.abs(Date.parse(writtenAt) - Date.parse(since)) < graceMs
  const earlier = (stay?.replaced ?? []).filter(({ object, since }) => isRecent(since) && folders.has(folderOf(object)))
  return {
    generation,
    written_at: writtenAt,
    without_personal_data: plan.withoutPersonalData,
    organizations: entries,
    replaced: [...earlier, ...replacedNow].filter(({ object }) => !named.has(object)),
  }
}

function folderOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/'))
}

/** What the next manifest says of each organization. */
type Chosen = {
  entries: PublishedObject[]
  /** The organizations whose objects are new. */
  made: Set<string>
  leftOut: LeftOut[]
  /** Organizations whose rows could not be written; the objects from before stay. */
  failed: Published['failed']
}

/** Keeps the object of each organization that is still what the mirror has, and writes the others. */
async function choose(plan: ObjectsPlan, place: FoundPlace, opened: OpenedToRead): Promise<Chosen> {
  const { db } = opened
  const recorded = recordedIn(db).filter(isRead)
  const found = entriesFor(plan, place.manifest)
  const chosen: Chosen = { entries: [], made: new Set(), leftOut: [], failed: [] }
  for (const one of recorded.filter(({ retiredAt }) => retiredAt === null)) {
    const { organization } = one
    const entry = found.get(organization)
    const kept = entry && keptEntry(plan, db, one, entry)
    const made = kept ? undefined : make(plan, { opened, one, place, failed: chosen.failed })
    if (made === undefined) {
      const stays = kept ?? entry
      if (stays !== undefined) chosen.entries.push(stays)
      continue
    }
    try {
      chosen.entries.push({ organization, ...made.facts, ...(await made.object.put()), ...runFactsOf(one) })
      chosen.made.add(organization)
    } finally {
      made.object.close()
    }
  }
  addUnread(plan, chosen, { recorded, found, db })
  chosen.entries.sort((one, other) => (one.organization < other.organization ? -1 : 1))
  return chosen
}

/** An object with personal data does not serve where there is to be none, nor one without them where there are to be some. */
function entriesFor(
  { withoutPersonalData }: ObjectsPlan,
  manifest: Manifest | undefined,
): ReadonlyMap<string, PublishedObject> {
  const entries = manifest?.without_personal_data === withoutPersonalData ? publishedIn(manifest) : []
  return new Map(entries.map((entry) => [entry.organization, entry]))
}

/** The entry of an object that need not be written; undefined where it must be. */
function keptEntry(
  { afterRuns = false }: ObjectsPlan,
  db: Connection,
  one: ReadOrganization,
  entry: PublishedObject,
): PublishedObject | undefined {
  if (afterRuns && staysAfterRuns(entry, one)) return entry
  const { state } = rowFactsOf(db, one.organization)
  return state === entry.state ? { ...entry, ...runFactsOf(one) } : undefined
}

/** Rows of a run that is under way, or did not reach its end, are half a list. */
function staysAfterRuns(entry: PublishedObject, one: ReadOrganization): boolean {
  const now = runFactsOf(one)
  // A customer who was forgotten since goes with the next publish, whatever the runs of the organization do.
  if (now.forgotten > entry.forgotten) return false
  // A mirror that was begun anew counts its runs from 1 again.
  const isSameMirror = entry.run === now.run && entry.read_as_of === now.read_as_of
  const isSameRun = isSameMirror && entry.last_run === now.last_run && entry.last_status === now.last_status
  return isSameRun || !['complete', 'partial'].includes(now.last_status)
}

type Making = { opened: OpenedToRead; one: ReadOrganization; place: FoundPlace; failed: Published['failed'] }
type Made = { object: NewObject; facts: ReturnType<typeof rowFactsOf> }

/** Writes an object from one state of the mirror. What Parquet cannot hold is reported as failed: that keeps no other organization back. */
function make({ withoutPersonalData }: ObjectsPlan, { opened, one, place, failed }: Making): Made | undefined {
  const { organization } = one
  let begun: NewObject | undefined
  try {
    const object = (begun = place.begin(organization))
    const facts = inOneState(opened, (db) => {
      const selection = { organizations: [organization], includeRemoved: true, withoutPersonalData }
      const isThere = 'SELECT COUNT(*) FROM runs WHERE id = ? AND organization = ?'
      // It may have been renamed or forgotten since.
      const recorded = numberIn(db, isThere, one.runId, organization) === 0 ? [] : [one]
      const exporting = { selection, configured: [], recorded, format: parquetFormat({ ids: 'text' }) }
      for (const { chunks } of beginExport(db, { ...exporting, isPartitioned: true }).parts)
        for (const chunk of chunks) object.write(chunk)
      return rowFactsOf(db, organization)
    })
    return { object, facts }
  } catch (error) {
    begun?.close()
    if (!isOurs(error) || factsOf(error).again !== 'never') throw error
    failed.push({ file: `${place.shown}/${organization}`, ...describeError(error) })
    return undefined
  }
}

type Unread = {
  recorded: readonly ReadOrganization[]
  found: ReadonlyMap<string, PublishedObject>
  db: Connection
}

/**
 * Organizations of the configuration that this mirror has not read yet: an object from before, of a mirror that was lost, stays. One of
 * a run that this mirror has under another name holds the customers of an organization that was renamed.
 */
function addUnread(plan: ObjectsPlan, chosen: Chosen, { recorded, found, db }: Unread): void {
  const read = new Set(recorded.map(({ organization }) => organization))
  for (const organization of plan.organizations) {
    if (read.has(organization)) continue
    const entry = found.get(organization)
    if (entry === undefined || hasRun(db, entry)) chosen.leftOut.push({ organization, reason: 'never-read' })
    else chosen.entries.push(entry)
  }
}

/** Whether the mirror has a run, by its number and when it began, whatever its organization is called now. */
function hasRun(db: Connection, { run, read_as_of: readAsOf }: PublishedObject): boolean {
  const began = db.prepare<[number], string>('SELECT read_as_of FROM runs WHERE id = ?').pluck().get(run)
  return began !== undefined && isoOf(began) === readAsOf
}

/** What a manifest says of the runs of an organization. */
function runFactsOf({ runId, status, forgotten, reading: { run, proof, readAsOf, provenAsOf } }: ReadOrganization) {
  return {
    ...{ run, proof, read_as_of: isoOf(readAsOf), proven_as_of: provenAsOf === null ? null : isoOf(provenAsOf) },
    ...{ last_run: runId, last_status: status, forgotten },
  }
}

/** What the rows of an organization are, by counting them: `updated_at` moves with every change of a row, and one that is deleted is missing in the count. */
function rowFactsOf(db: Connection, organization: string): Pick<PublishedObject, 'rows' | 'active' | 'state'> {
  const sql = `SELECT COUNT(*) AS rows, COUNT(*) FILTER (WHERE removed_at IS NULL) AS active, MAX(updated_at) AS updatedAt
    FROM customers WHERE organization = ?`
  type Counted = { rows: number; active: number; updatedAt: string | null }
  const found = db.prepare<[string], Counted>(sql).safeIntegers(false).get(organization)
  const { rows = 0, active = 0, updatedAt = null } = found ?? {}
  const state = createHash('sha256').update(JSON.stringify([organization, rows, active, updatedAt]))
  return { rows, active, state: state.digest('hex').slice(0, 32) }
}
