import { createHash } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeError, factsOf, isOurs } from '../../errors/errors.ts'
import { isoOf } from '../../time/iso-time.ts'
import { atPlace } from '../copy-error.ts'
import type { OrganizationRows, ReadOrganization, RowsReader } from '../customer-rows.ts'
import type { BucketPlan, LeftOut, Published } from '../publish-plan.ts'
import { privateName, removeFile, writeAll } from '../written-file.ts'
import { type BucketManifest, type ManifestEntry, objectKey } from './bucket-manifest.ts'
import type { ObjectStore } from './s3-store.ts'

/** What the next manifest says of each organization. */
export type Chosen = {
  entries: ManifestEntry[]
  /** The organizations whose objects are new. */
  made: Set<string>
  leftOut: LeftOut[]
  /** Organizations whose rows could not be written; the objects from before stay. */
  failed: Published['failed']
}

type Choosing = {
  store: ObjectStore
  reader: RowsReader
  before: BucketManifest | undefined
  generation: number
  /** Gets the key of each object that is written. */
  written: string[]
}

/**
 * Keeps the object of each organization that is still what the mirror has, and writes the others: while some are on their way to the
 * service, the next one is read. Undefined where another process published meanwhile.
 */
export async function chooseEntries(plan: BucketPlan, choosing: Choosing): Promise<Chosen | undefined> {
  const { reader, before } = choosing
  const known = reader.organizations()
  // An object with personal data does not serve where there is to be none, nor one without them where there are to be some.
  const isOfSameKind = before?.without_personal_data === plan.withoutPersonalData
  const found = new Map((isOfSameKind ? before.organizations : []).map((entry) => [entry.organization, entry]))
  const chosen: Chosen = { entries: [], made: new Set(), leftOut: [], failed: [] }
  const uploads = new UploadsUnderWay()
  try {
    for (const organization of known.filter(({ retiredAt }) => retiredAt === null)) {
      const entry = found.get(organization.organization)
      const kept = keptEntry(plan, reader, organization, entry)
      const made = kept ?? (await makeEntry(organization, { ...choosing, entry, uploads, chosen }))
      if (made !== undefined) chosen.entries.push(made)
    }
  } finally {
    await uploads.ended()
  }
  uploads.requireDone()
  if (uploads.isOvertaken) return undefined
  addUnread(plan, chosen, { known, found, reader })
  chosen.entries.sort((one, other) => (one.organization < other.organization ? -1 : 1))
  return chosen
}

/** The entry of an object that need not be written; undefined where it must be. */
function keptEntry(
  { afterRuns }: BucketPlan,
  reader: RowsReader,
  organization: ReadOrganization,
  entry: ManifestEntry | undefined,
): ManifestEntry | undefined {
  if (entry === undefined) return undefined
  const { run, readAsOf, lastRun, lastStatus } = organization
  // A mirror that was begun anew counts its runs from 1 again.
  const isSameMirror = entry.run === run && entry.read_as_of === isoOf(readAsOf)
  const isSameRun = isSameMirror && entry.last_run === lastRun && entry.last_status === lastStatus
  // A customer who was forgotten since goes with the next publish, whatever the runs of the organization do.
  const hasForgotten = organization.forgotten > entry.forgotten
  // Rows of a run that is under way, or did not reach its end, are half a list.
  if (afterRuns && !hasForgotten && (isSameRun || !ENDED.has(lastStatus))) return entry
  const rows = reader.look(organization.organization)
  return rows.state === entry.state ? { ...entry, ...runFactsOf(organization) } : undefined
}

const ENDED = new Set(['complete', 'partial'])

type Making = Choosing & { entry: ManifestEntry | undefined; uploads: UploadsUnderWay; chosen: Chosen }

async function makeEntry(
  organization: ReadOrganization,
  { store, reader, generation, written, entry, uploads, chosen }: Making,
): Promise<ManifestEntry | undefined> {
  const { organization: id } = organization
  await uploads.room()
  try {
    const { file, sha256, ...rows } = await makeFile(reader, organization)
    const object = objectKey(id, generation, sha256)
    written.push(object)
    uploads.begin(
      () => store.upload(object, file),
      () => file.close(),
    )
    chosen.made.add(id)
    return entryOf(organization, rows, { object, bytes: file.bytes, sha256 })
  } catch (error) {
    // A value that Parquet cannot hold keeps no other organization back.
    if (!isOurs(error) || factsOf(error).again !== 'never') throw error
    chosen.failed.push({ file: `${store.shown}/${id}`, ...describeError(error) })
    return entry
  }
}

function entryOf(
  organization: ReadOrganization,
  { rows, active, state }: OrganizationRows,
  object: Pick<ManifestEntry, 'object' | 'bytes' | 'sha256'>,
): ManifestEntry {
  return { organization: organization.organization, ...object, rows, active, ...runFactsOf(organization), state }
}

function runFactsOf({ run, proof, readAsOf, provenAsOf, lastRun, lastStatus, forgotten }: ReadOrganization) {
  return {
    run,
    proof,
    read_as_of: isoOf(readAsOf),
    proven_as_of: provenAsOf === null ? null : isoOf(provenAsOf),
    last_run: lastRun,
    last_status: lastStatus,
    forgotten,
  }
}

type Unread = { known: readonly ReadOrganization[]; found: ReadonlyMap<string, ManifestEntry>; reader: RowsReader }

/**
 * Organizations of the configuration that this mirror has not read yet: an object from before, of a mirror that was lost, stays. One of
 * a run that this mirror has under another name holds the customers of an organization that was renamed.
 */
function addUnread(plan: BucketPlan, chosen: Chosen, { known, found, reader }: Unread): void {
  const read = new Set(known.map(({ organization }) => organization))
  for (const organization of plan.organizations) {
    if (read.has(organization)) continue
    const entry = found.get(organization)
    if (entry === undefined || reader.hasRun(entry)) chosen.leftOut.push({ organization, reason: 'never-read' })
    else chosen.entries.push(entry)
  }
}

/** How many objects are sent at a time, each with parts of its own in memory. */
const AT_ONCE = 4

/** Uploads that go on while the next object is made. The first one that fails stops the others from being begun. */
class UploadsUnderWay {
  readonly #underWay = new Set<Promise<void>>()
  readonly #failures: unknown[] = []
  /** Whether another process removed what was being written. */
  isOvertaken = false

  /** Returns when another upload may begin. Throws what an upload has thrown. */
  async room(): Promise<void> {
    while (this.#underWay.size >= AT_ONCE) await Promise.race(this.#underWay)
    this.requireDone()
  }

  /** `end` is called when it is over, whatever became of it. */
  begin(upload: () => Promise<boolean>, end: () => void): void {
    const under = upload()
      .then((isWritten) => {
        if (!isWritten) this.isOvertaken = true
      })
      .catch((error: unknown) => void this.#failures.push(error))
      .finally(() => {
        end()
        this.#underWay.delete(under)
      })
    this.#underWay.add(under)
  }

  async ended(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  requireDone(): void {
    if (this.#failures.length > 0) throw this.#failures[0]
  }
}

/** The customers of an organization at one moment as a Parquet file that has no name any more. */
async function makeFile(reader: RowsReader, organization: ReadOrganization) {
  const file = privateTemporaryFile()
  const digest = createHash('sha256')
  const write = (chunk: string | Uint8Array) => {
    file.write(chunk)
    digest.update(chunk)
  }
  try {
    const rows = await reader.atOnce(() => reader.write(organization, { write }))
    return { ...rows, file, sha256: digest.digest('hex') }
  } catch (error) {
    file.close()
    throw error
  }
}

/** A file that only this process can open: it has no name, so that a kill leaves nothing of it. */
type TemporaryFile = {
  descriptor: number
  readonly bytes: number
  write(chunk: string | Uint8Array): void
  close(): void
}

/** In the folder for temporary files. Throws CopyFailed where it cannot be written, also later. */
function privateTemporaryFile(): TemporaryFile {
  const folder = tmpdir()
  const path = privateName(join(folder, 'customers.parquet'))
  const descriptor = atPlace(folder, () => {
    const opened = openSync(path, 'wx+', 0o600)
    removeFile(path)
    return opened
  })
  let bytes = 0
  return {
    descriptor,
    get bytes() {
      return bytes
    },
    write(chunk) {
      const content = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      atPlace(folder, () => writeAll(descriptor, content))
      bytes += content.length
    },
    close: () => closeSync(descriptor),
  }
}
