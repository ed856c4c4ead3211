import { createHash } from 'node:crypto'
import {
  closeSync,
  existsSync,
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
import { makeFolder } from '../machine/make-folder.ts'
import { parsedJson } from '../parsed-json.ts'
import { afterPlacing, atPlace } from './copy-error.ts'
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
  writeAll,
  writeInto,
} from './written-file.ts'

/*
 * A folder with a file for each organization, as Hive names it, and a manifest that lists them. Files are written under private names, and
 * put in their places one after the other.
 */

/** A set of partitions that is being written into a folder. */
export type Partitions = {
  /** The place of the rows of an organization. */
  of(organization: string): PartitionSink
  /** Puts all of them in their places, and removes those of organizations that are gone. `facts` stand in the manifest. Returns how many there are. */
  finish(facts: Readonly<Record<string, unknown>>): number
  /** Removes what was not put in its place. */
  close(): void
}

/** What is written into a folder: the format that the names of its files end with, what writes all bytes, or throws, and who may read it. */
type Writing = {
  extension: string
  write: (chunk: string | Uint8Array, descriptor: number) => void
  /** This user alone where it is left out. */
  access?: Access
}

/**
 * Begins to write into a folder, which is made where it is missing (0700), and removes what was left there by processes that were killed. Throws
 * UsageError where others may write there, or where it holds partitions that this program did not write, and CopyFailed where another process
 * writes into it, or this user cannot.
 */
export function beginPartitions(folder: string, { extension, ...writing }: Writing): Partitions {
  return atPlace(folder, () => {
    requireFolder(folder)
    makeFolderFor(folder, writing.access)
    const lock = lockFolder(folder)
    try {
      removeUnfinished(folder)
      const written = readManifest(folder)
      requireOurs(folder, written)
      const files: PartitionFile[] = []
      const unfinished = new Map<string, string>()
      return {
        of(organization) {
          const object = `${partitionFolder(organization)}/part-0.${extension}`
          const path = privateName(join(folder, object))
          unfinished.set(object, path)
          return partitionSink(path, {
            folder,
            ...writing,
            add: (facts) => files.push({ ...facts, object, organization }),
          })
        },
        finish(facts) {
          const { access } = writing
          atPlace(folder, () => replaceFiles(folder, { facts, files, written, unfinished, access }))
          return files.length
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

type Adding = Omit<Writing, 'extension'> & {
  folder: string
  add: (facts: Pick<PartitionFile, 'rows' | 'bytes' | 'sha256'>) => void
}

/** A private file, in a folder that is made where it is missing. */
function partitionSink(path: string, { folder, write, access, add }: Adding): PartitionSink {
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
      bytes += typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.length
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
      add({ rows, bytes, sha256: digest.digest('hex') })
    },
  }
}

function lockFolder(folder: string): { release: () => void } {
  return lockPlace(join(folder, MANIFEST), { waitMs: 0, busy: (cause) => busyAt(folder, cause) })
}

function makeFolderFor(folder: string, access: Access | undefined): void {
  if (access === undefined) makeFolder(folder)
  else prepareFolder(folder, access)
}

/** Removes what a process left that was ended, unless another one writes there. */
export function tidyPartitions(folder: string): void {
  if (!existsSync(folder)) return
  atPlace(folder, () => {
    const lock = lockFolder(folder)
    try {
      removeUnfinished(folder)
    } finally {
      lock.release()
    }
  })
}

function requireFolder(folder: string): void {
  const found = statSync(folder, { throwIfNoEntry: false })
  if (found !== undefined && !found.isDirectory())
    throw new UsageError(`${folder}: is not a folder; --to names the folder that the partitions go into.`)
  requireOwnFolder(folder, 'export')
}

const UNFINISHED = /^\..+\.[0-9a-f]{16}\.unfinished$/

/** What was killed leaves files with private names, and folders of new partitions that are empty. The caller holds the lock. */
function removeUnfinished(folder: string): void {
  for (const name of readdirSync(folder)) if (UNFINISHED.test(name)) removeFile(join(folder, name))
  for (const partition of partitionsIn(folder)) {
    const names = readdirSync(partition)
    const unfinished = names.filter((name) => UNFINISHED.test(name))
    for (const name of unfinished) removeFile(join(partition, name))
    if (unfinished.length > 0 && unfinished.length === names.length) rmdirSync(partition)
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
  files: readonly PartitionFile[]
  facts: Readonly<Record<string, unknown>>
  /** What earlier exports wrote. */
  written: readonly PartitionFile[]
  /** The private name of each file that is to be put in its place. */
  unfinished: ReadonlyMap<string, string>
  access: Access | undefined
}

/** The manifest names both sets meanwhile, so that the next export knows what is ours if this one is killed. Throws LeftUndone after it. */
function replaceFiles(folder: string, { files, facts, written, unfinished, access }: Replacing): void {
  writeManifest(folder, facts, { files, replaced: written, access })
  afterPlacing('not all of it: each partition is of this export or of the one from before', () => {
    for (const [object, path] of unfinished) renameSync(path, join(folder, object))
    for (const object of unfinished.keys()) flushFolder(dirname(join(folder, object)))
    for (const object of new Set(written.map((file) => file.object)))
      if (!unfinished.has(object) && isOurs(folder, object, written)) removePartition(folder, object)
    writeManifest(folder, facts, { files, replaced: [], access })
  })
}

/** Its folder too, unless it holds something else. */
function removePartition(folder: string, object: string): void {
  removeFile(join(folder, object))
  const partition = dirname(join(folder, object))
  if (readdirSync(partition).length === 0) rmdirSync(partition)
}

/** The name of the manifest in the folder of the partitions. Readers of Hive partitions skip names that begin so. */
const MANIFEST = '_manifest.json'

const fileSchema = z.object({
  /** The path of the file within the folder. */
  object: z.string().regex(/^organization=[^/]+\/part-0\.[a-z]+$/),
  organization: z.string(),
  rows: z.number(),
  bytes: z.number(),
  sha256: z.string(),
})

/** A partition as it was written. */
type PartitionFile = z.output<typeof fileSchema>

const manifestSchema = z.looseObject({
  program: z.literal('customer-mirror'),
  organizations: z.array(fileSchema),
  /** What the files were before; while an export puts its files in their places, each is this or that. */
  replaced: z.array(fileSchema).default([]),
})

/**
 * The files that exports wrote into this folder, as far as they are still what they were. Throws UsageError for a foreign manifest, and the
 * error of the system.
 */
function readManifest(folder: string): PartitionFile[] {
  const { organizations, replaced } = manifestOf(folder)
  return [...organizations, ...replaced]
}

/** What the manifest of a folder says besides its files; nothing where there is none. Throws as writing does. */
export function manifestFacts(folder: string): Readonly<Record<string, unknown>> {
  return manifestOf(folder)
}

function manifestOf(folder: string): z.output<typeof manifestSchema> {
  const place = join(folder, MANIFEST)
  const found = lstatSync(place, { throwIfNoEntry: false })
  if (found === undefined) return { program: 'customer-mirror', organizations: [], replaced: [] }
  const parsed = found.isFile() ? manifestSchema.safeParse(parsedJson(readFileSync(place, 'utf8'))) : undefined
  if (parsed?.success !== true)
    throw new UsageError(`${place}: was not written by this program. It was left as it is; name another folder.`)
  return parsed.data
}

/** Replaces the manifest as a whole. `facts` stand first in it. */
function writeManifest(
  folder: string,
  facts: Readonly<Record<string, unknown>>,
  { files, replaced, access }: Pick<Replacing, 'files' | 'access'> & { replaced: readonly PartitionFile[] },
): void {
  const content = {
    program: 'customer-mirror',
    ...facts,
    organizations: files,
    ...(replaced.length > 0 && { replaced }),
  }
  const path = privateName(join(folder, MANIFEST))
  makeFile(path, { gid: access?.gid })
  writeInto(path, (descriptor) => {
    writeAll(descriptor, Buffer.from(`${JSON.stringify(content, null, 2)}\n`))
    if (access !== undefined) fchmodSync(descriptor, modeOf(access))
    fsyncSync(descriptor)
  })
  renameSync(path, join(folder, MANIFEST))
  flushFolder(folder)
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
