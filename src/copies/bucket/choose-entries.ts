import { createHash } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeError, factsOf, isOurs } from '../../errors/errors.ts'
import { isoOf } from '../../time/moments.ts'
import type { Connection } from '../../store/sqlite/connect.ts'
import { atPlace } from '../copy-error.ts'
import { exportRows } from '../export-rows.ts'
import { bytesOf, type Chunk } from '../format.ts'
import { inOneState, type OpenedToRead } from '../open-to-read.ts'
import {
  organizationsToPublish,
  type PublishedFile,
  rowFactsOf,
  runFactsOf,
  type ToPublish,
} from '../object-manifest.ts'
import { parquetFormat } from '../parquet.ts'
import type { BucketPlan, LeftOut, Published } from '../publish-plan.ts'
import { privateName, removeFile, writeAll } from '../written-file.ts'
import { type BucketManifest, objectKey } from './bucket-manifest.ts'
import type { ObjectStore } from './s3-store.ts'

/** What the next manifest says of each organization. */
export type Chosen = {
  entries: PublishedFile[]
  /** The organizations whose objects are new. */
  made: Set<string>
  leftOut: LeftOut[]
  /** Organizations whose rows could not be written; the objects from before stay. */
  failed: Published['failed']
}

type Choosing = {
  store: ObjectStore
  /** The mirror. */
  opened: OpenedToRead
  before: BucketManifest | undefined
  generation: number
}

/** Keeps the object of each organization that is still what the mirror has, and writes the others. Undefined where another process published meanwhile. */
export async function chooseEntries(
  plan: BucketPlan,
  { store, opened, before, generation }: Choosing,
): Promise<Chosen | undefined> {
  const { db } = opened
  const known = organizationsToPublish(db)
  // An object with personal data does not serve where there is to be none, nor one without them where there are to be some.
  const isOfSameKind = before?.without_personal_data === plan.withoutPersonalData
  const found = new Map((isOfSameKind ? before.organizations : []).map((entry) => [entry.organization, entry]))
  const chosen: Chosen = { entries: [], made: new Set(), leftOut: [], failed: [] }
  for (const organization of known.filter(({ retiredAt }) => retiredAt === null)) {
    const id = organization.organization
    const entry = found.get(id)
    const kept = keptEntry(plan, db, organization, entry)
    const made = kept === undefined ? makeOrReport(opened, id, { plan, store, chosen }) : undefined
    if (made === undefined) {
      const stays = kept ?? entry
      if (stays !== undefined) chosen.entries.push(stays)
      continue
    }
    const { descriptor, ...facts } = made
    const object = objectKey(id, generation, facts.sha256)
    try {
      if (!(await store.upload(object, { descriptor, bytes: facts.bytes }))) return undefined
    } finally {
      closeSync(descriptor)
    }
    chosen.made.add(id)
    chosen.entries.push({ organization: id, object, ...facts, ...runFactsOf(organization) })
  }
  addUnread(plan, chosen, { known, found, db })
  chosen.entries.sort((one, other) => (one.organization < other.organization ? -1 : 1))
  return chosen
}

/** Undefined, and reported as failed, where Parquet cannot hold a value: that keeps no other organization back. */
function makeOrReport(
  opened: OpenedToRead,
  organization: string,
  { plan, store, chosen }: { plan: BucketPlan; store: ObjectStore; chosen: Chosen },
): Made | undefined {
  try {
    return makeObject(opened, organization, plan)
  } catch (error) {
    if (!isOurs(error) || factsOf(error).again !== 'never') throw error
    chosen.failed.push({ file: `${store.shown}/${organization}`, ...describeError(error) })
    return undefined
  }
}

/** The entry of an object that need not be written; undefined where it must be. */
function keptEntry(
  { afterRuns }: BucketPlan,
  db: Connection,
  organization: ToPublish,
  entry: PublishedFile | undefined,
): PublishedFile | undefined {
  if (entry === undefined) return undefined
  const { run, readAsOf, lastRun, lastStatus } = organization
  // A mirror that was begun anew counts its runs from 1 again.
  const isSameMirror = entry.run === run && entry.read_as_of === isoOf(readAsOf)
  const isSameRun = isSameMirror && entry.last_run === lastRun && entry.last_status === lastStatus
  // A customer who was forgotten since goes with the next publish, whatever the runs of the organization do.
  const hasForgotten = organization.forgotten > entry.forgotten
  // Rows of a run that is under way, or did not reach its end, are half a list.
  if (afterRuns && !hasForgotten && (isSameRun || !['complete', 'partial'].includes(lastStatus))) return entry
  const { state } = rowFactsOf(db, organization.organization)
  return state === entry.state ? { ...entry, ...runFactsOf(organization) } : undefined
}

type Made = Pick<PublishedFile, 'rows' | 'active' | 'state' | 'bytes' | 'sha256'> & { descriptor: number }

/** The customers of an organization at one moment as Parquet, in a file without a name: a kill leaves nothing of it. The caller closes it. */
function makeObject(opened: OpenedToRead, organization: string, { withoutPersonalData }: BucketPlan): Made {
  const folder = tmpdir()
  const path = privateName(join(folder, 'customers.parquet'))
  const descriptor = atPlace(folder, () => {
    const made = openSync(path, 'wx+', 0o600)
    removeFile(path)
    return made
  })
  const digest = createHash('sha256')
  let bytes = 0
  const write = (chunk: Chunk) => {
    const content = bytesOf(chunk)
    atPlace(folder, () => writeAll(descriptor, content))
    digest.update(content)
    bytes += content.length
  }
  try {
    const found = inOneState(opened, (db) => {
      const selection = { organizations: [organization], includeRemoved: true, withoutPersonalData }
      const to = () => ({ write, finish: () => {} })
      exportRows(db, { selection, configured: [organization], format: parquetFormat({ ids: 'text' }), to })
      return rowFactsOf(db, organization)
    })
    return { ...found, bytes, sha256: digest.digest('hex'), descriptor }
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
}

type Unread = { known: readonly ToPublish[]; found: ReadonlyMap<string, PublishedFile>; db: Connection }

/**
 * Organizations of the configuration that this mirror has not read yet: an object from before, of a mirror that was lost, stays. One of
 * a run that this mirror has under another name holds the customers of an organization that was renamed.
 */
function addUnread(plan: BucketPlan, chosen: Chosen, { known, found, db }: Unread): void {
  const read = new Set(known.map(({ organization }) => organization))
  for (const organization of plan.organizations) {
    if (read.has(organization)) continue
    const entry = found.get(organization)
    if (entry === undefined || hasRun(db, entry)) chosen.leftOut.push({ organization, reason: 'never-read' })
    else chosen.entries.push(entry)
  }
}

/** Whether the mirror has a run, by its number and when it began, whatever its organization is called now. */
function hasRun(db: Connection, { run, read_as_of: readAsOf }: PublishedFile): boolean {
  const began = db.prepare<[number], string>('SELECT read_as_of FROM runs WHERE id = ?').pluck().get(run)
  return began !== undefined && isoOf(began) === readAsOf
}
