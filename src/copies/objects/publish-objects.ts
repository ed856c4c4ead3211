import { createHash } from 'node:crypto'
import { closeSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { Environment } from '../../config/environment.ts'
import { leftOutOf } from '../build-copy.ts'
import { atPlace } from '../copy-error.ts'
import type { StoreLimits } from './bucket.ts'
import { lookAtFolder } from './folder.ts'
import type { FoundPlace, Manifest, PublishedObject } from './object-place.ts'
import { idsOf, isRead, type ReadOrganization, recordedIn } from '../organizations.ts'
import { parquetFormat } from '../parquet.ts'
import type { BucketPlan, FolderPlan, Published } from '../publish-plan.ts'
import { beginExport } from '../export-mirror.ts'
import { accessOf, requireSafeFolder } from '../target-place.ts'
import { CopyFailed, describeError, factsOf, isOurs } from '../../errors/errors.ts'
import { closing } from '../../store/mirror.ts'
import type { Connection } from '../../store/sqlite/connect.ts'
import { sqliteError } from '../../store/port/sqlite-errors.ts'
import { nowIn, numberIn, openToRead } from '../../store/sqlite/open-to-read.ts'
import { isoOf } from '../../time/moments.ts'

type ObjectsPlan = FolderPlan | BucketPlan

/** Publishes a Parquet file for each organization, replaced as a whole. Throws UsageError before it writes, CopyFailed, MirrorUnusable. */
export async function publishFolder(plan: FolderPlan): Promise<Published> {
  const { parquet: folder, mirror } = plan
  atPlace(folder, () => requireSafeFolder(folder, mirror))
  const access = accessOf(plan)
  return publishObjects(plan, async () => lookAtFolder(folder, access))
}

/** Publishes an object for each, then the manifest: a reader that begins there finds one whole set. Throws as `publishFolder` does. */
export async function publishBucket(plan: BucketPlan, environment: Environment, limits?: StoreLimits) {
  const { lookAtBucket, openS3Store } = await import('./bucket.ts')
  return closing(openS3Store(plan, environment, limits), (store) => publishObjects(plan, () => lookAtBucket(store)))
}

/** How often it is begun anew because something changed there meanwhile. */
const ATTEMPTS = 5

/** What was written for nothing, because something changed there meanwhile, is removed by the next publish. */
async function publishObjects(plan: ObjectsPlan, look: () => Promise<FoundPlace>): Promise<Published> {
  return closing(openToRead(plan.mirror, { asMade: true }), async (db) => {
    for (let attempt = 1; ; attempt += 1) {
      const found = await look()
      try {
        return await closing(found, (place) => publishOnce(plan, place, db))
      } catch (error) {
        if (!(error instanceof CopyFailed && error.code === 'busy') || attempt === ATTEMPTS)
          throw sqliteError(error, plan.mirror)
      }
    }
  })
}

async function publishOnce(plan: ObjectsPlan, place: FoundPlace, db: Connection): Promise<Published> {
  const { manifest: before, shown } = place
  const recorded = recordedIn(db)
  // An object with personal data does not serve where there is to be none, nor one without them where there are to be some.
  const ofKind = before?.without_personal_data === plan.withoutPersonalData ? before : undefined
  const found = new Map(ofKind?.organizations.map((one) => [one.organization, one]))
  const entries: PublishedObject[] = []
  const made = new Set<string>()
  const failed: Published['failed'] = []
  for (const one of recorded.filter(isRead).filter(({ retiredAt }) => retiredAt === null)) {
    const { organization } = one
    const entry = found.get(organization)
    const kept = entry && keptEntry(plan, db, one, entry)
    const written = kept ?? (await writeObject(plan, place, db, one))
    // That it could not be written keeps no other organization back.
    if ('message' in written) failed.push(written)
    else if (kept === undefined) made.add(organization)
    const next = 'message' in written ? entry : written
    if (next !== undefined) entries.push(next)
  }
  const content = contentOf(plan, entries, { ...place, manifest: ofKind }, isoOf(nowIn(db)))
  const { generation: number, written_at: at } = content
  const isNew = made.size > 0 || !isDeepStrictEqual({ ...before, generation: number, written_at: at }, content)
  const { warnings, isLeft } = await place.finish(content, isNew)
  const { generation, written_at: writtenAt } = isNew ? content : (before ?? content)
  const there = new Set(idsOf(entries))
  const gone = idsOf(before?.organizations ?? []).filter((id) => !there.has(id))
  const organizations = entries.map(({ organization, object, run, proof, read_as_of, rows, active, bytes, sha256 }) => {
    const facts = { run, proof, readAsOf: read_as_of, customers: rows, active, bytes, sha256 }
    return { organization, object, isNew: made.has(organization), ...facts }
  })
  const replaced = content.replaced.length
  const objects = { to: shown, generation, writtenAt, isNew, organizations, gone, replaced, isLeft }
  const done = { copies: [], leftOut: leftOutOf(recorded, plan.organizations), failed, warnings }
  return 'to' in plan ? { ...done, bucket: objects } : { ...done, parquet: objects }
}

/**
 * The next manifest. Objects that one before of the same kind named stay a while for its readers; not those of an organization that is gone, or
 * of which a customer was forgotten since.
 */
function contentOf(plan: ObjectsPlan, entries: PublishedObject[], place: FoundPlace, writtenAt: string): Manifest {
  const { generation, manifest: before } = place
  const graceMs = 'to' in plan ? plan.graceMs : 0
  const folderOf = (key: string) => key.slice(0, key.lastIndexOf('/'))
  const named = new Set(entries.map(({ object }) => object))
  const forgotten = new Map(before?.organizations.map((one) => [one.organization, one.forgotten]))
  const stay = entries.filter((one) => one.forgotten <= (forgotten.get(one.organization) ?? one.forgotten))
  const folders = new Set(stay.map(({ object }) => folderOf(object)))
  const isRecent = (since = '') => Math.abs(Date.parse(writtenAt) - Date.parse(since)) < graceMs
  const earlier = (before?.replaced ?? []).filter(({ since }) => isRecent(since))
  const replaced = (before?.organizations ?? []).map(({ object }) => ({ object, since: writtenAt }))
  return {
    ...{ program: 'customer-mirror', version: 1, generation },
    written_at: writtenAt,
    without_personal_data: plan.withoutPersonalData,
    organizations: entries,
    replaced: [...earlier, ...replaced].filter(({ object }) => !named.has(object) && folders.has(folderOf(object))),
  }
}

/** The entry of an object that need not be written; undefined where it must be. */
function keptEntry({ afterRuns = false }: ObjectsPlan, db: Connection, one: ReadOrganization, entry: PublishedObject) {
  const now = runFactsOf(one)
  if (afterRuns && now.forgotten <= entry.forgotten) {
    // Rows of a run that is under way, or did not reach its end, are half a list. A mirror that was begun anew counts its runs from 1 again.
    const isSameMirror = entry.run === now.run && entry.read_as_of === now.read_as_of
    const isSameRun = isSameMirror && entry.last_run === now.last_run && entry.last_status === now.last_status
    if (isSameRun || !['complete', 'partial'].includes(now.last_status)) return entry
  }
  return rowFactsOf(db, one.organization).state === entry.state ? { ...entry, ...now } : undefined
}

/** Writes the object of an organization from one state of the mirror. Returns the failure where Parquet cannot hold a value of it. */
async function writeObject(plan: ObjectsPlan, place: FoundPlace, db: Connection, one: ReadOrganization) {
  const { withoutPersonalData } = plan
  const { organization } = one
  const { descriptor, folder, put } = place.begin(organization)
  const digest = createHash('sha256')
  let bytes = 0
  try {
    const facts = db.transaction(() => {
      const selection = { organizations: [organization], includeRemoved: true, withoutPersonalData }
      const isThere = 'SELECT COUNT(*) FROM runs WHERE id = ? AND organization = ?'
      // It may have been renamed or forgotten since.
      const recorded = numberIn(db, isThere, one.runId, organization) === 0 ? [] : [one]
      const exporting = { selection, configured: [], recorded, format: parquetFormat({ ids: 'text' }) }
      try {
        for (const chunk of beginExport(db, { ...exporting, isPartition: true }).chunks) {
          atPlace(folder, () => writeFileSync(descriptor, chunk))
          digest.update(chunk)
          bytes += Buffer.byteLength(chunk)
        }
      } catch (error) {
        if (!isOurs(error) || factsOf(error).again !== 'never') throw error
        return { file: `${place.shown}/${organization}`, ...describeError(error) }
      }
      return rowFactsOf(db, organization)
    })()
    if ('message' in facts) return facts
    const written = { bytes, sha256: digest.digest('hex') }
    return { organization, ...facts, object: await put(written), ...written, ...runFactsOf(one) }
  } finally {
    closeSync(descriptor)
  }
}

function runFactsOf({ runId, status, forgotten, run, proof, readAsOf, provenAsOf }: ReadOrganization) {
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
