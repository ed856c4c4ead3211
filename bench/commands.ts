import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { atRest } from './members.ts'
import type { Dataset, Measurement } from './messages.ts'
import type { GroupResult } from './results.ts'
import { runToEnd, runWatched } from './run-program.ts'
import type { Stage } from './stage.ts'

const PROGRAM = fileURLToPath(new URL('../src/cli/customer-mirror.mjs', import.meta.url))
const BY_HAND = fileURLToPath(new URL('contenders/export_by_hand.py', import.meta.url))

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

/** How long short commands take from the outside, beside Node itself doing nothing. */
export async function measureStartup(
  stage: Stage,
  { folder, dataset, runs }: { folder: string; dataset: Dataset; runs: number },
): Promise<GroupResult> {
  const workplace = await makeWorkplace(folder, await stage.yesterdaysFile(atRest('at rest', dataset)))
  const node = { name: 'node, nothing to do', floors: [], args: ['-e', ''] }
  const floors = [[node.name]]
  const rows = [
    { name: '--help', floors, args: [PROGRAM, '--help'] },
    { name: 'status', floors, args: [PROGRAM, 'status'] },
    node,
  ].map((row) => ({ ...row, measurements: new Array<Measurement>() }))

  for (let round = 0; round <= runs; round += 1) {
    for (const { name, args, measurements } of rows) {
      const { code, stderr, wallMs } = await runToEnd([process.execPath, ...args], {
        cwd: workplace,
        env: { CUSTOMER_MIRROR_CONFIG: '' },
      })
      if (code !== 0) throw new Error(`"${name}" ended with ${code}: ${stderr}`)
      // The first round fills the caches of the system, and is left out.
      if (round > 0) measurements.push({ wallMs })
    }
  }
  return { name: 'startup', about: `short commands; the mirror holds ${dataset.customers} customers`, rows }
}

async function makeWorkplace(folder: string, mirror: string): Promise<string> {
  const workplace = join(folder, 'workplace')
  await mkdir(workplace, { recursive: true })
  await copyFile(mirror, join(workplace, 'customers.db'))
  const organization = {
    ...{ id: 'org-1', baseUrl: 'http://127.0.0.1:9/api/v1' },
    ...{ apiKey: 'made-up-key', secret: 'made-up-secret' },
  }
  const config = { mirror: './customers.db', organizations: [organization] }
  await writeFile(join(workplace, 'customer-mirror.yaml'), stringify(config))
  return workplace
}
