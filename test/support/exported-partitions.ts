import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { exportCommand } from '../../src/cli/export.ts'
import { exportRows } from '../../src/copies/export-rows.ts'
import { loadFormat, type FormatName } from '../../src/copies/format.ts'
import { beginPartitions } from '../../src/copies/partition-folder.ts'
import { writeAll } from '../../src/copies/written-file.ts'
import type { Mirror } from '../../src/model/mirror.ts'
import { night } from '../store/nights.ts'
import { customers } from './builders.ts'
import { aMirror } from './mirror-file.ts'
import { runCommand } from './run-command.ts'
import { temporaryFolder } from './temp-folder.ts'

/** A mirror of acme and eu.globex, and the folder that it is exported into. */
export async function aMirrorAndFolder() {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 3))
  await night(mirror, 0, customers(11, 15), { organization: 'eu.globex' })
  const folder = join(temporaryFolder(), 'exports')
  const run = (...more: string[]) =>
    runCommand(exportCommand, ['--mirror', mirror.file, '--to', folder, '--partition', 'organization', ...more])
  return { mirror, folder, run }
}

/** The same after an export, which is made once for all tests: the folder holds copies of its files. */
export async function anExportedMirror() {
  const place = await aMirrorAndFolder()
  for (const { name, bytes } of await (exported ??= exportedOnce())) {
    const file = join(place.folder, name)
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(file, bytes, { mode: 0o600 })
  }
  return place
}

/** Exports as the process of the command does, without that process. */
export async function exportHere(
  { file }: Pick<Mirror, 'file'>,
  folder: string,
  { organizations = [], format = 'parquet' }: { organizations?: string[]; format?: FormatName } = {},
): Promise<void> {
  const db = new Database(file, { readonly: true })
  const partitions = beginPartitions(folder, {
    extension: format,
    write: (chunk, descriptor) => void writeAll(descriptor, Buffer.from(chunk)),
  })
  try {
    const done = exportRows(db.defaultSafeIntegers(), {
      selection: { organizations },
      configured: [],
      format: await loadFormat(format, { excel: false, ids: 'text' }),
      to: (organization) => partitions.of(organization),
    })
    partitions.finish({ exported_at: done.exportedAt, last_seq: done.lastSeq })
  } finally {
    partitions.close()
    db.close()
  }
}

let exported: Promise<{ name: string; bytes: Buffer }[]> | undefined

async function exportedOnce() {
  const { mirror, folder } = await aMirrorAndFolder()
  await exportHere(mirror, folder)
  return partsIn(folder).map((name) => ({ name, bytes: readFileSync(join(folder, name)) }))
}

/** The paths of the files in the folder, but its lock. */
export const partsIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile() && !name.endsWith('.lock'))
    .toSorted()

/** What an export of that mirror leaves in the folder. */
export const PARTS = ['_manifest.json', 'organization=acme/part-0.parquet', 'organization=eu.globex/part-0.parquet']
