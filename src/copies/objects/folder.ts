import { fchmodSync, fsyncSync, lstatSync, openSync, readdirSync, readFileSync, renameSync, rmdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { UsageError } from '../../errors/errors.ts'
import { afterPlacing, atPlace } from '../copy-error.ts'
import { type Access, closedAbove, prepareFolder } from '../target-place.ts'
import {
  busyAt,
  flushFolder,
  lockPlace,
  makeFile,
  privateName,
  removeFile,
  removeLeftovers,
  writeTextFile,
} from '../written-file.ts'
import { type FoundPlace, type Manifest, manifestText, partitionFolder, readManifestText } from './object-place.ts'

/** Opens a folder, which it may make; keeps others out, removes what killed ones left. Throws UsageError for foreign files, CopyFailed. */
export function lookAtFolder(folder: string, access: Access): FoundPlace {
  return atPlace(folder, () => {
    prepareFolder(folder, access)
    const lock = lockPlace(join(folder, 'organization'), { waitMs: 0, busy: (cause) => busyAt(folder, cause) })
    try {
      removeUnfinished(folder)
      const place = join(folder, MANIFEST)
      const stats = lstatSync(place, { throwIfNoEntry: false })
      // What is no file, such as a pipe, is foreign.
      const found = stats && readManifestText(stats.isFile() ? readFileSync(place, 'utf8') : '', place)
      const parts = requireOurs(folder, found)
      const uncertain = new Set(found?.replaced.map(({ object }) => object))
      // One of another size was changed, and one that a killed publish may have replaced is of either: both are written anew.
      const isThere = ({ object, bytes }: { object: string; bytes: number }) =>
        parts.get(object) === bytes && !uncertain.has(object)
      const made: { path: string; object: string }[] = []
      const writeManifest = (content: Manifest) => writeTextFile(place, manifestText(content), access)
      return {
        shown: folder,
        manifest: found && { ...found, organizations: found.organizations.filter(isThere) },
        generation: (found?.generation ?? 0) + 1,
        begin(organization) {
          const object = `${partitionFolder(organization)}/part-0.parquet`
          const path = privateName(join(folder, object))
          const descriptor = atPlace(dirname(path), () => {
            prepareFolder(dirname(path), access)
            makeFile(path, access.gid)
            return openSync(path, 'r+')
          })
          const finished = () => {
            fchmodSync(descriptor, access.mode)
            fsyncSync(descriptor)
            made.push({ path, object })
            return object
          }
          return { descriptor, folder, put: async () => atPlace(folder, finished) }
        },
        async finish(content, isNew) {
          const replaceParts = () => {
            // It is the one from before meanwhile, and names what is replaced: if this publish is killed, the next one writes that anew.
            const before = found ?? { ...content, organizations: [], replaced: [] }
            writeManifest({ ...before, replaced: [...before.replaced, ...made.map(({ object }) => ({ object }))] })
            const what = 'not all of it: each partition is of this publish or of the one from before'
            afterPlacing(folder, what, () => {
              for (const { path, object } of made) renameSync(path, join(folder, object))
              for (const { path } of made) flushFolder(dirname(path))
              const named = new Set(content.organizations.map(({ object }) => object))
              for (const object of parts.keys()) if (!named.has(object)) removeFile(join(folder, object))
              writeManifest({ ...content, replaced: [] })
            })
          }
          if (isNew) atPlace(folder, replaceParts)
          return { warnings: closedAbove(join(folder, MANIFEST), access), isLeft: false }
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

/** Files with private names, which what was killed leaves, and empty folders of partitions. The caller holds the lock. */
function removeUnfinished(folder: string): void {
  for (const place of [folder, ...partitionsIn(folder)]) removeLeftovers(place)
  for (const partition of partitionsIn(folder)) if (readdirSync(partition).length === 0) rmdirSync(partition)
}

/** The sizes of the parts that are there. Throws UsageError for one of another program: readers would take both for one set. */
function requireOurs(folder: string, manifest: Manifest | undefined): ReadonlyMap<string, number> {
  const ours = new Set([...(manifest?.organizations ?? []), ...(manifest?.replaced ?? [])].map(({ object }) => object))
  const parts = partitionsIn(folder).flatMap((partition) =>
    readdirSync(partition)
      .filter((name) => name.startsWith('part-'))
      .map((name) => `${basename(partition)}/${name}`),
  )
  return new Map(
    parts.map((object) => {
      const found = lstatSync(join(folder, object))
      if (ours.has(object) && found.isFile()) return [object, found.size]
      throw new UsageError(
        `${join(folder, object)}: was not written by this program. It was left as it is; move it away, or name another folder.`,
      )
    }),
  )
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

/** The name of the manifest in the folder of the partitions. Readers of Hive partitions skip names that begin so. */
const MANIFEST = '_manifest.json'
