import { createHash } from 'node:crypto'
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { UsageError } from '../errors/errors.ts'
import { makeFolder } from '../machine/folders.ts'
import { parsedJson } from '../text/parsed-json.ts'
import { afterPlacing, atPlace } from './copy-error.ts'
import { manifestOf, manifestText, writtenFile } from './object-manifest.ts'
import { type Access, modeOf, prepareFolder } from './copy-target.ts'
import type { PartitionSink } from './export-rows.ts'
import { requireOwnFolder } from './target-place.ts'
import {
  busyAt,
  digestOfFile,
  flushFolder,
  lockPlace,
  makeFile,
  privateName,
  removeFile,
  removeLeftovers,
  writeTextFile,
} from './written-file.ts'

/*
 * A folder with a file for each organization, as Hive names it, and a manifest that lists them. Files are written under private names, and
 * put in their places one after the other.
 */

/** A set of partitions that is being written into a folder. */
export type Partitions = {
  /** The place of the rows of an organization. */
  of(organization: string): PartitionSink
  /**
   * Puts all of them in their places, and removes those of organizations that are gone. `facts` stand in the manifest, and those of an
   * organization with its file. Returns how many there are.
   */
  finish(facts: Facts, factsOf?: (organization: string) => Facts): number
  /** Removes what was not put in its place. */
  close(): void
}

type Facts = Readonly<Record<string, unknown>>

/** What is written into a folder: the format that the names of its files end with, what writes all bytes, or throws, and who may read it. */
type Writing = {
  extension: string
  write: (chunk: string | Uint8Array, descriptor: number) => void
  /** This user alone where it is left out. */
  access?: Access
}

/** A partition that is written, and its private name. */
type Made = { file: PartitionFile; path: string }

/**
 * Begins to write into a folder, which is made where it is missing (0700), and removes what was left there by processes that were killed. Throws
 * UsageError where others may write there, or where it holds partitions that this program did not write, and CopyFailed where another process
 * writes into it, or this user cannot.
 */
export function beginPartitions(folder: string, writing: Writing): Partitions {
  return atPlace(folder, () => {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === false)
      throw new UsageError(`${folder}: is not a folder; --to names the folder that the partitions go into.`)
    requireOwnFolder(folder, 'export')
    makeFolderFor(folder, writing.access)
    const lock = lockFolder(folder)
    try {
      removeUnfinished(folder)
      const { organizations, replaced } = readManifestIn(folder)
      const written = [...organizations, ...replaced]
      requireOurs(folder, written)
      const made: Made[] = []
      return {
        of: (organization) => partitionOf(organization, folder, { ...writing, made }),
        finish(facts, factsOf = () => ({})) {
          const described = made.map(({ path, file }) => ({ path, file: { ...factsOf(file.organization), ...file } }))
          atPlace(folder, () => replaceFiles(folder, { facts, made: described, written, access: writing.access }))
          return made.length
        },
        close() {
          try {
            removeUnfinished(folder)
          } catch {
            // The next command that writes there removes it; the error that ended this one is the one to report.
          } finally {
            lock.release()
          }
        },
      }
    } catch (error) {
      lock.release()
      throw error
    }
  })
}

function lockFolder(folder: string): { release: () => void } {
  return lockPlace(join(folder, 'organization'), { waitMs: 0, busy: (cause) => busyAt(folder, cause) })
}

function makeFolderFor(folder: string, access: Access | undefined): void {
  if (access === undefined) makeFolder(folder)
  else prepareFolder(folder, access)
}

/** What was killed leaves files with private names, and folders of new partitions that are empty. The caller holds the lock. */
function removeUnfinished(folder: string): void {
  for (const place of [folder, ...partitionsIn(folder)]) removeLeftovers(place)
  for (const partition of partitionsIn(folder)) if (readdirSync(partition).length === 0) rmdirSync(partition)
}

/** A private file, in a folder that is made where it is missing. */
function partitionOf(
  organization: string,
  folder: string,
  { extension, write, access, made }: Writing & { made: Made[] },
): PartitionSink {
  const object = `${partitionFolder(organization)}/part-0.${extension}`
  const path = privateName(join(folder, object))
  const descriptor = atPlace(dirname(path), () => {
    makeFolderFor(dirname(path), access)
    makeFile(path, { gid: access?.gid })
    return openSync(path, 'r+')
  })
  const digest = createHash('sha256')
  let bytes = 0
  return {
    write(chunk) {
      write(chunk, descriptor)
      digest.update(chunk)
      bytes += Buffer.byteLength(chunk)
    },
    finish(rows) {
      try {
        atPlace(folder, () => {
          if (access !== undefined) fchmodSync(descriptor, modeOf(access))
          fsyncSync(descriptor)
        })
      } finally {
        closeSync(descriptor)
      }
      made.push({ path, file: { object, organization, rows, bytes, sha256: digest.digest('hex') } })
    },
  }
}

/** Throws UsageError for a partition of another program: readers would take both for one set. */
function requireOurs(folder: string, written: readonly PartitionFile[]): void {
  for (const partition of partitionsIn(folder))
    for (const name of readdirSync(partition)) {
      const object = `${basename(partition)}/${name}`
      if (name.startsWith('part-') && !isOurs(folder, object, written))
        throw new UsageError(
          `${join(folder, object)}: was not written by this program, or was changed since. It was left as it is; ` +
            'move it away, or name another folder.',
        )
    }
}

/** The folders of partitions. Throws UsageError for a link, which could lead anywhere. */
function partitionsIn(folder: string): string[] {
  const partitions = readdirSync(folder).filter((name) => name.startsWith('organization='))
  return partitions.map((name) => {
    const partition = join(folder, name)
    if (lstatSync(partition).isDirectory()) return partition
    throw new UsageError(`${partition}: is not a folder; move it away, or name another folder.`)
  })
}

type Replacing = {
  made: readonly Made[]
  facts: Facts
  /** What earlier exports wrote. */
  written: readonly PartitionFile[]
  access: Access | undefined
}

/** The manifest names both sets meanwhile, so that the next export knows what is ours if this one is killed. Throws LeftUndone after it. */
function replaceFiles(folder: string, { made, facts, written, access }: Replacing): void {
  const organizations = made.map(({ file }) => file)
  const writeManifest = (more: { replaced: readonly PartitionFile[] }) => {
    const mode = access === undefined ? 0o600 : modeOf(access)
    writeTextFile(join(folder, MANIFEST), manifestText({ ...facts, organizations, ...more }), {
      mode,
      gid: access?.gid,
    })
  }
  writeManifest({ replaced: written })
  afterPlacing('not all of it: each partition is of this export or of the one from before', () => {
    for (const { path, file } of made) renameSync(path, join(folder, file.object))
    for (const { path } of made) flushFolder(dirname(path))
    const stays = new Set(organizations.map(({ object }) => object))
    for (const object of new Set(written.map((file) => file.object))) {
      if (stays.has(object) || !isOurs(folder, object, written)) continue
      removeFile(join(folder, object))
      // Its folder too, unless it holds something else.
      const partition = dirname(join(folder, object))
      if (readdirSync(partition).length === 0) rmdirSync(partition)
    }
    writeManifest({ replaced: [] })
  })
}

/** The name of the manifest in the folder of the partitions. Readers of Hive partitions skip names that begin so. */
const MANIFEST = '_manifest.json'

const fileSchema = writtenFile.extend({ object: z.string().regex(/^organization=[^/]+\/part-0\.[a-z]+$/) })

/** A partition as it was written. */
type PartitionFile = z.output<typeof fileSchema>

/** `replaced` is what the files were before; while an export puts its files in their places, each is this or that. */
const manifestSchema = manifestOf(fileSchema, fileSchema)

/**
 * What the manifest of a folder says, besides the files that were written there, as far as they are still what they were; nothing where there is
 * none. Throws UsageError for a foreign manifest, and the error of the system.
 */
export function readManifestIn(folder: string): z.output<typeof manifestSchema> {
  const place = join(folder, MANIFEST)
  const found = lstatSync(place, { throwIfNoEntry: false })
  if (found === undefined) return { program: 'customer-mirror', version: 1, organizations: [], replaced: [] }
  const parsed = found.isFile() ? manifestSchema.safeParse(parsedJson(readFileSync(place, 'utf8'))) : undefined
  if (parsed?.success === true) return parsed.data
  throw new UsageError(`${place}: was not written by this program. It was left as it is; name another folder.`)
}

/** Whether the file at this path within the folder is still one of those that exports wrote. */
function isOurs(folder: string, object: string, written: readonly PartitionFile[]): boolean {
  const place = join(folder, object)
  const found = lstatSync(place, { throwIfNoEntry: false })
  if (found?.isFile() !== true) return false
  const alike = written.filter((file) => file.object === object && file.bytes === found.size)
  if (alike.length === 0) return false
  const { sha256 } = digestOfFile(place)
  return alike.some((file) => file.sha256 === sha256)
}

/** The folder of a partition, as Hive names it. */
export function partitionFolder(organization: string): string {
  return `organization=${organization === '' ? '__HIVE_DEFAULT_PARTITION__' : organization.replaceAll(ESCAPED, asHex)}`
}

// oxlint-disable-next-line no-control-regex -- control characters are among them
const ESCAPED = /[\x00-\x1F\x7F"#%'*/:=?\\{}[\]^]/g

function asHex(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
}
