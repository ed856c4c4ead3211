import { randomBytes } from 'node:crypto'
import { existsSync, lstatSync, readdirSync, renameSync, rmdirSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { UsageError } from '../../errors/errors.ts'
import { makeFolder } from '../../machine/make-folder.ts'
import { lock as takeLock } from '../files/folder-lock.ts'
import { flushFolder, removeFile } from '../files/placed-file.ts'
import { afterPlacing, atPlace, copyFault } from '../files/copy-error.ts'
import { isOurs, readPartitionManifest, writePartitionManifest, type PartitionFile } from './partition-manifest.ts'

/** A folder of partitions that this process alone exports into, until it is closed. */
export type ExportFolder = {
  /** What the names of files end with until they are in their places. */
  ending: string
  /**
   * Puts the files that were written in their places, one after the other, and removes those that earlier exports wrote and this
   * one did not. `facts` stand in the manifest.
   */
  finish(files: readonly PartitionFile[], facts: Readonly<Record<string, unknown>>): void
  /** Removes what was not put in its place. */
  close(): void
}

/**
 * Makes the folder where it is missing (0700), and removes what exports left behind that were killed. Throws UsageError where the
 * folder holds partitions that this program did not write, and ExportFailed where another process exports into it, or this user
 * cannot write there.
 */
export function openExportFolder(folder: string, lockWaitMs: number): ExportFolder {
  return atPlace(folder, () => {
    requireFolder(folder)
    makeFolder(folder)
    const lock = takeLock(join(folder, LOCK), lockWaitMs, (cause) => busy(folder, cause))
    try {
      removeUnfinished(folder)
      const written = readPartitionManifest(folder)
      requireOurs(folder, written)
      const ending = `.${randomBytes(8).toString('hex')}${ENDING}`
      return {
        ending,
        finish: (files, facts) => atPlace(folder, () => replaceFiles(folder, { files, facts, written, ending })),
        close() {
          try {
            removeUnfinished(folder)
          } catch {
            // The next export removes it; the error that ended this one is the one to report.
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

/** Removes what an export left behind that was ended, unless another one is under way. */
export function tidyExportFolder(folder: string): void {
  if (!existsSync(join(folder, LOCK))) return
  atPlace(folder, () => {
    const lock = takeLock(join(folder, LOCK), 0, (cause) => busy(folder, cause))
    try {
      removeUnfinished(folder)
    } finally {
      lock.release()
    }
  })
}

const LOCK = '.export.lock'
const ENDING = '.exporting'

/** The name of a file until it is in its place, as `ending` makes it one of this export. */
export function unfinishedName(path: string, ending: string): string {
  return join(dirname(path), `.${basename(path)}${ending}`)
}

function requireFolder(folder: string): void {
  const found = statSync(folder, { throwIfNoEntry: false })
  if (found !== undefined && !found.isDirectory())
    throw new UsageError(`${folder}: is not a folder; --to names the folder that the partitions go into.`)
}

function busy(folder: string, cause: Error): Error {
  return copyFault(folder, { fault: 'busy', said: 'another process exports into it at the moment' }, { cause })
}

/** What was killed leaves files with private names, and folders of new partitions that are empty. */
function removeUnfinished(folder: string): void {
  for (const name of readdirSync(folder))
    if (/^\._manifest\.json\.[0-9a-f]{16}\.exporting$/.test(name)) removeFile(join(folder, name))
  for (const partition of partitionsIn(folder)) {
    const names = readdirSync(partition)
    const unfinished = names.filter((name) => /^\.part-0\.[a-z]+\.[0-9a-f]{16}\.exporting$/.test(name))
    for (const name of unfinished) removeFile(join(partition, name))
    if (unfinished.length > 0 && unfinished.length === names.length) rmdirSync(partition)
  }
}

/** Throws UsageError for a partition of another program: readers would take both for one set. */
function requireOurs(folder: string, written: readonly PartitionFile[]): void {
  for (const partition of partitionsIn(folder))
    for (const name of readdirSync(partition)) {
      const path = join(partition, name).slice(folder.length + 1)
      if (name.startsWith('part-') && !isOurs(folder, path, written))
        throw new UsageError(
          `${join(folder, path)}: was not written by this program, or was changed since. It was left as it is; ` +
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
  ending: string
}

/** The manifest names both sets meanwhile, so that the next export knows what is ours if this one is killed. Throws LeftUndone after it. */
function replaceFiles(folder: string, { files, facts, written, ending }: Replacing): void {
  const partitions = new Set(files.map(({ path }) => dirname(path)))
  writePartitionManifest(folder, facts, { files, replaced: written, ending })
  afterPlacing('not all of it: each partition is of this export or of the one from before', () => {
    for (const { path } of files) renameSync(join(folder, unfinishedName(path, ending)), join(folder, path))
    for (const partition of partitions) flushFolder(join(folder, partition))
    const stays = new Set(files.map(({ path }) => path))
    for (const path of new Set(written.map((file) => file.path)))
      if (!stays.has(path) && isOurs(folder, path, written)) removePartition(folder, path)
    writePartitionManifest(folder, facts, { files, replaced: [], ending })
  })
}

/** Its folder too, unless it holds something else. */
function removePartition(folder: string, path: string): void {
  removeFile(join(folder, path))
  const partition = join(folder, dirname(path))
  if (readdirSync(partition).length === 0) rmdirSync(partition)
}
