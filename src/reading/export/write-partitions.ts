import { createHash } from 'node:crypto'
import { closeSync, fsyncSync, openSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeFolder } from '../../machine/make-folder.ts'
import { atPlace } from '../files/copy-error.ts'
import { openExportFolder, unfinishedName } from './export-folder.ts'
import type { PartitionSink } from './export-rows.ts'
import type { PartitionFile } from './partition-manifest.ts'
import { partitionFolder } from './partition-names.ts'

/** A set of partitions that is being written into a folder. */
export type Partitions = {
  /** The place of the rows of an organization. */
  of(organization: string): PartitionSink
  /** Puts all of them in their places, and removes those of organizations that are gone. `facts` stand in the manifest. */
  finish(facts: Readonly<Record<string, unknown>>): void
  /** Removes what was not put in its place. */
  close(): void
}

/** Begins to export into a folder; `write` writes all bytes, or throws. Throws UsageError and ExportFailed, as the folder does. */
export function beginPartitions(
  folder: string,
  extension: string,
  write: (chunk: string | Uint8Array, descriptor: number) => void,
): Partitions {
  const place = openExportFolder(folder, 0)
  const files: PartitionFile[] = []
  return {
    of(organization) {
      const path = `${partitionFolder(organization)}/part-0.${extension}`
      const descriptor = makeFile(join(folder, unfinishedName(path, place.ending)))
      const digest = createHash('sha256')
      let bytes = 0
      return {
        write(chunk) {
          write(chunk, descriptor)
          digest.update(chunk)
          bytes += typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.length
        },
        finish(rows) {
          finishFile(descriptor, folder)
          files.push({ path, organization, rows, bytes, sha256: digest.digest('hex') })
        },
      }
    },
    finish: (facts) => place.finish(files, facts),
    close: () => place.close(),
  }
}

/** Private, in a folder that is made where it is missing. */
function makeFile(path: string): number {
  return atPlace(dirname(path), () => {
    makeFolder(dirname(path))
    return openSync(path, 'wx', 0o600)
  })
}

function finishFile(descriptor: number, folder: string): void {
  try {
    atPlace(folder, () => fsyncSync(descriptor))
  } finally {
    closeSync(descriptor)
  }
}
