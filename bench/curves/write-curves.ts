import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { curvesPart } from './page.ts'
import { type Cost, SIDE_BY_SIDE, type SideBySide } from './plan.ts'
import { atRest, firstLoad, type Group, plain } from '../members.ts'
import { describeMachine } from '../machine.ts'
import type { Dataset, Measurement } from '../messages.ts'
import { withPart } from '../markdown.ts'
import { groupTable } from '../report.ts'
import type { GroupResult } from '../results.ts'
import { runRounds } from '../rounds.ts'
import type { Output } from '../run-bench.ts'
import { createStage, NIGHTS_BEFORE, type Stage } from '../stage.ts'
import { spreadOf } from '../statistics.ts'

const PAGE = fileURLToPath(new URL('../../docs/explain/performance.md', import.meta.url))

/** A list of just 10,000 is not proven at first, since services stop counting there. */
const SIZES = [10_001, 100_000, 1_000_000]

/**
 * Measures what a night costs against the number of customers, and writes its part of the page on performance. `stageIn` makes the stage in a folder.
 * Returns the exit code.
 */
export async function writeCurves(
  args: readonly string[],
  { stdout, stderr }: Output,
  stageIn = (folder: string): Stage => createStage(folder, {}),
): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  const sizes = (values.size?.map(Number) ?? SIZES).toSorted((a, b) => a - b)
  const runs = Number(values.runs ?? 5)
  if (![...sizes, runs].every((count) => Number.isSafeInteger(count) && count > 0)) {
    stderr.write('--size and --runs must be whole numbers from 1 up\n')
    return 2
  }
  const folder = await mkdtemp(join(values.folder ?? tmpdir(), 'customer-mirror-bench-'))
  const stage = stageIn(folder)
  const measure = async (group: Group): Promise<GroupResult> => {
    const result = await runRounds(group, stage, runs, ({ member, round }) => {
      stderr.write(`${group.about}: ${member} (${round} of ${runs})\n`)
    })
    await stage.clear()
    stdout.write(`${groupTable(result, [result])}\n`)
    return result
  }
  try {
    const costs: Cost[] = []
    for (const customers of sizes) costs.push(costOf(customers, await measure(curveGroup(customers))))
    const dataset = { organizations: SIDE_BY_SIDE, customers: sizes.at(-2) ?? sizes[0] ?? 0 }
    const sideBySide = besideOf(dataset, await measure(sideBySideGroup(dataset)))
    const machine = { ...describeMachine(folder), rounds: String(runs) }
    const part = curvesPart({ costs, sideBySide, nightsBefore: NIGHTS_BEFORE }, machine)
    const { output = PAGE } = values
    await writeFile(output, output === PAGE ? withPart(await readFile(PAGE, 'utf8'), 'curves', part) : part)
    stdout.write(`${output} was written.\n`)
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

function curveGroup(customers: number): Group {
  const dataset = { organizations: 1, customers }
  const members = [firstLoad('load', dataset), atRest('rest', dataset), plain(atRest('plain', dataset))]
  return { name: 'curve', about: `${customers.toLocaleString('en')} customers, no latency`, members }
}

function sideBySideGroup(dataset: Dataset): Group {
  const about = `${dataset.organizations} × ${dataset.customers.toLocaleString('en')} customers side by side, no latency`
  return { name: 'side-by-side', about, members: [firstLoad('load', dataset), atRest('rest', dataset)] }
}

function costOf(customers: number, result: GroupResult): Cost {
  return { customers, load: median(result, 'load'), rest: median(result, 'rest'), plain: median(result, 'plain') }
}

function besideOf(dataset: Dataset, result: GroupResult): SideBySide {
  return { ...dataset, load: median(result, 'load'), rest: median(result, 'rest') }
}

/** The median of each quantity by itself. */
function median({ rows }: GroupResult, name: string): Measurement {
  const measurements = rows.find((row) => row.name === name)?.measurements ?? []
  const of = (quantity: 'wallMs' | 'cpuMs' | 'peakRssBytes' | 'writtenBytes' | 'fileBytes' | 'requests') =>
    spreadOf(measurements.flatMap((measurement) => measurement[quantity] ?? []))?.median ?? 0
  return {
    ...{ wallMs: of('wallMs'), cpuMs: of('cpuMs'), peakRssBytes: of('peakRssBytes') },
    ...{ writtenBytes: of('writtenBytes'), fileBytes: of('fileBytes'), requests: of('requests') },
  }
}
