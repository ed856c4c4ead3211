import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Cost, performancePage } from './curves-page.ts'
import { atRest, firstLoad, plain } from './groups.ts'
import { describeMachine } from './machine.ts'
import type { Measurement } from './messages.ts'
import { groupTable } from './report.ts'
import type { GroupResult } from './results.ts'
import { runRounds } from './rounds.ts'
import type { Output } from './run-bench.ts'
import { createStage } from './stage.ts'
import { spreadOf } from './statistics.ts'

const SIZES = [10_000, 100_000, 1_000_000]

/** Measures what a night costs against the number of customers, and writes the page about it. Returns the exit code. */
export async function writeCurves(args: readonly string[], { stdout, stderr }: Output): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  const page = values.output ?? fileURLToPath(new URL('../docs/PERFORMANCE.md', import.meta.url))
  const sizes = values.size?.map(Number) ?? SIZES
  const folder = await mkdtemp(join(values.folder ?? tmpdir(), 'customer-mirror-bench-'))
  const stage = createStage(folder, {})
  try {
    const costs: Cost[] = []
    for (const customers of sizes) {
      const result = await runRounds(curveGroup(customers), stage, Number(values.runs ?? 5), ({ member, round }) => {
        stderr.write(`${customers} customers: ${member} (${round})\n`)
      })
      stdout.write(`${groupTable(result, [result])}\n`)
      costs.push(costOf(customers, result))
      await stage.clear()
    }
    await mkdir(dirname(page), { recursive: true })
    await writeFile(page, performancePage(costs, describeMachine(folder)))
    stdout.write(`${page} was written.\n`)
    return 0
  } finally {
    await stage.clear()
    await rm(folder, { recursive: true, force: true })
  }
}

const OPTIONS = {
  output: { type: 'string' },
  size: { type: 'string', multiple: true },
  runs: { type: 'string' },
  folder: { type: 'string' },
} as const

function curveGroup(customers: number) {
  const dataset = { organizations: 1, customers }
  const members = [firstLoad('load', dataset), atRest('rest', dataset), plain(atRest('plain', dataset))]
  return { name: 'curve', about: `${customers.toLocaleString('en')} customers, no latency`, members }
}

function costOf(customers: number, { rows }: GroupResult): Cost {
  const middle = (name: string): Measurement => {
    const measurements = rows.find((row) => row.name === name)?.measurements ?? []
    const of = (quantity: 'wallMs' | 'cpuMs' | 'peakRssBytes' | 'writtenBytes' | 'fileBytes' | 'requests') =>
      spreadOf(measurements.flatMap((measurement) => measurement[quantity] ?? []))?.median ?? 0
    return {
      ...{ wallMs: of('wallMs'), cpuMs: of('cpuMs'), peakRssBytes: of('peakRssBytes') },
      ...{ writtenBytes: of('writtenBytes'), fileBytes: of('fileBytes'), requests: of('requests') },
    }
  }
  return { customers, load: middle('load'), rest: middle('rest'), plain: middle('plain') }
}
