import { lstatSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { UsageError } from '../../errors/errors.ts'
import { parsedJson } from '../../parsed-json.ts'
import { digestOfFile, flushFolder } from '../files/placed-file.ts'

/** The name of the manifest in the folder of the partitions. Readers of Hive partitions skip names that begin so. */
const MANIFEST = '_manifest.json'

/** A partition as it was written. `path` is that of its file within the folder. */
export type PartitionFile = z.output<typeof fileSchema>

const fileSchema = z.object({
  path: z.string().regex(/^organization=[^/]+\/part-0\.[a-z]+$/),
  organization: z.string(),
  rows: z.number(),
  bytes: z.number(),
  sha256: z.string(),
})

const manifestSchema = z.object({
  program: z.literal('customer-mirror'),
  files: z.array(fileSchema),
  /** What the files were before; while an export puts its files in their places, each is this or that. */
  replaced: z.array(fileSchema).default([]),
})

/**
 * The files that exports wrote into this folder, as far as they are still what they were. Throws UsageError for a foreign manifest, and the
 * error of the system.
 */
export function readPartitionManifest(folder: string): PartitionFile[] {
  const place = join(folder, MANIFEST)
  const found = lstatSync(place, { throwIfNoEntry: false })
  if (found === undefined) return []
  const parsed = found.isFile() ? manifestSchema.safeParse(parsedJson(readFileSync(place, 'utf8'))) : undefined
  if (parsed?.success !== true)
    throw new UsageError(`${place}: was not written by this program. It was left as it is; name another folder.`)
  return [...parsed.data.files, ...parsed.data.replaced]
}

/** Replaces the manifest as a whole. `facts` stand first in it. */
export function writePartitionManifest(
  folder: string,
  facts: Readonly<Record<string, unknown>>,
  { files, replaced, ending }: { files: readonly PartitionFile[]; replaced: readonly PartitionFile[]; ending: string },
): void {
  const content = { program: 'customer-mirror', ...facts, files, ...(replaced.length > 0 && { replaced }) }
  const unfinished = join(folder, `.${MANIFEST}${ending}`)
  writeFileSync(unfinished, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flush: true })
  renameSync(unfinished, join(folder, MANIFEST))
  flushFolder(folder)
}

/** Whether the file at this path within the folder is still one of those that exports wrote. */
export function isOurs(folder: string, path: string, written: readonly PartitionFile[]): boolean {
  const place = join(folder, path)
  const found = lstatSync(place, { throwIfNoEntry: false })
  if (found?.isFile() !== true) return false
  const alike = written.filter((file) => file.path === path && file.bytes === found.size)
  if (alike.length === 0) return false
  const { sha256 } = digestOfFile(place)
  return alike.some((file) => file.sha256 === sha256)
}
