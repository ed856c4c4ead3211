import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { atRest } from '../members.ts'
import type { Dataset, Measurement } from '../messages.ts'
import type { GroupResult } from '../results.ts'
import type { Stage } from '../stage.ts'
import { runWatched } from './run-watched.ts'

const PROGRAM = fileURLToPath(new URL('../../src/cli/customer-mirror.mjs', import.meta.url))
const BY_HAND = fileURLToPath(new URL('../contenders/export_by_hand.py', import.meta.url))

/** The formats, each with the name of its export. */
export const EXPORTS = { csv: 'export as CSV', jsonl: 'export as JSON lines', parquet: 'export as Parquet' } as const

const CSV_BY_HAND = 'CSV by hand, in Python'

type Settings = { folder: string; dataset: Dataset; runs: number; python: string | undefined }

/**
 * Whole exports of a mirror, from start to exit, with the memory of all their processes; beside them a script with the CSV and
 * SQLite of Python's standard library, where there is a Python.
 */
export async function measureExports(stage: Stage, { folder, dataset, runs, python }: Settings): Promise<GroupResult> {
  const mirror = await stage.yesterdaysFile({ ...atRest('exports', dataset), nightsBefore: 1 })
  const output = join(folder, 'exported')
  const ours = Object.entries(EXPORTS).map(([format, name]) => ({
    name,
    command: [process.execPath, PROGRAM, 'export', '--mirror', mirror, '--format', format, '-o', output] as const,
    floors: format === 'csv' && python !== undefined ? [[CSV_BY_HAND]] : [],
  }))
  const byHand =
    python === undefined ? [] : [{ name: CSV_BY_HAND, command: [python, BY_HAND, mirror, output] as const, floors: [] }]
  const rows = [...ours, ...byHand].map((row) => ({ ...row, measurements: new Array<Measurement>() }))
  for (let round = 0; round < runs; round += 1) {
    for (const { command, measurements } of rows)
      measurements.push({ ...(await measureExport(command, output)), customers: dataset.customers })
  }
  const about = `${dataset.customers.toLocaleString('en')} customers, whole commands, into a file`
  return {
    name: 'exports',
    about,
    rows: rows.map(({ name, floors, measurements }) => ({ name, floors, measurements })),
  }
}

async function measureExport(command: readonly [string, ...string[]], output: string): Promise<Measurement> {
  const measured = await runWatched(command, { file: output, env: { CUSTOMER_MIRROR_CONFIG: '' } })
  await rm(output)
  return measured
}
