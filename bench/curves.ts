import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { about, measuredOn, megabytes, number, percent, seconds, span, table, withPart } from './markdown.ts'
import { describeMachine } from './measure.ts'
import { atRest, firstLoad, type Group, plainly } from './members.ts'
import type { Dataset, Measurement } from './messages.ts'
import { groupTable } from './report.ts'
import { type GroupResult, spreadOf } from './results.ts'
import type { Output } from './run-bench.ts'
import { createStage, NIGHTS_BEFORE, runRounds, type Stage } from './stage.ts'

const PAGE = fileURLToPath(new URL('../docs/explain/performance.md', import.meta.url))

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
  const members = [firstLoad('load', dataset), atRest('rest', dataset), plainly(atRest('plain', dataset))]
  return { name: 'curve', about: `${customers.toLocaleString('en')} customers, no latency`, members }
}

function sideBySideGroup(dataset: Dataset): Group {
  const what = `${dataset.organizations} × ${dataset.customers.toLocaleString('en')} customers side by side, no latency`
  return { name: 'side-by-side', about: what, members: [firstLoad('load', dataset), atRest('rest', dataset)] }
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

/** What was measured, and after how many nights in which nothing changed either. */
type Curves = { costs: readonly Cost[]; sideBySide: SideBySide; nightsBefore: number }

/** The part on the number of customers, with no figure in it that was not measured or does not follow from those that were. */
function curvesPart({ costs, sideBySide, nightsBefore }: Curves, machine: Readonly<Record<string, string>>): string {
  const largest = costs.at(-1)
  if (largest === undefined) throw new Error('There is nothing to write about.')
  const parts = [
    '## Against the number of customers',
    'Written by `npm run bench -- --curves`; do not edit. Each figure is the median of its rounds, against a service in a process of its ' +
      `own that answers at once. ${measuredOn(machine)}`,
    'One organization, initial sync into an empty file:',
    costTable(costs, 'load'),
    `A night in which nothing changed, after ${nightsBefore} others, including the initial sync:`,
    costTable(costs, 'rest'),
    growth(costs),
    `## At ${REQUESTS_PER_MINUTE} requests a minute`,
    'The windows of a chain scan overlap, and the shared rows prove that no customer was missed. A plain scan (`scan: plain`) asks less, ' +
      `proves nothing, and removes no customer. Where a service allows ${REQUESTS_PER_MINUTE} requests a minute, a night takes:`,
    nightTable(costs),
    waiting(largest),
    '## One worker, and more',
    oneWorkerAndMore(largest, sideBySide),
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

function costTable(costs: readonly Cost[], what: 'load' | 'rest'): string {
  const rows = costs.map((cost) => {
    const { wallMs, cpuMs = 0, peakRssBytes = 0, writtenBytes = 0 } = cost[what]
    return [
      number(cost.customers),
      `${seconds(wallMs)} s`,
      number(cost.customers / (wallMs / 1000)),
      `${seconds(cpuMs)} s`,
      `${megabytes(peakRssBytes)} MB`,
      `${megabytes(writtenBytes)} MB`,
      `${(writtenBytes / cost.customers).toFixed(0)} B`,
    ]
  })
  return table([['customers', 'time', 'a second', 'CPU', 'peak memory', 'written', 'written a customer'], ...rows])
}

/** How little of such a night is work. */
function waiting({ customers, rest }: Cost): string {
  const { requests = 0, cpuMs = 0 } = rest
  const share = cpuMs / ((requests / REQUESTS_PER_MINUTE) * 60_000)
  return (
    `With ${number(customers)} customers, the CPU of a night at rest is ${percent(share)} of that time. Each page is saved alone then, ` +
    'which [takes more](#one-organization-measured); the program still waits for nearly all of it.'
  )
}

function nightTable(costs: readonly Cost[]): string {
  const rows = costs.map((cost) => {
    const { chain, plain } = requestsOf(cost)
    return [
      number(cost.customers),
      number(plain),
      number(chain),
      percent(chain / plain - 1),
      span(chain / REQUESTS_PER_MINUTE),
      span((chain - plain) / REQUESTS_PER_MINUTE),
      about(organizationsANight(cost)),
    ]
  })
  const many = `such organizations, one worker, ${NIGHT_HOURS} hours`
  return table([
    ['customers', 'requests, plain scan', 'chain scan', 'more', 'a night takes', 'of it the proof', many],
    ...rows,
  ])
}

function requestsOf({ rest, plain }: Cost): { chain: number; plain: number } {
  return { chain: rest.requests ?? 0, plain: plain.requests ?? 0 }
}

/** How the cost of one customer changes from the smallest size to the largest. */
function growth(costs: readonly Cost[]): string {
  const [least, most] = [costs.at(0), costs.at(-1)]
  if (least === undefined || most === undefined || least === most) return ''
  const per = ({ customers, rest }: Cost) => rest.wallMs / customers
  const factor = per(most) / per(least)
  const memory = (most.rest.peakRssBytes ?? 0) / (least.rest.peakRssBytes ?? 1)
  return (
    `From ${number(least.customers)} customers to ${number(most.customers)}, the time that one of them takes at rest changes ` +
    `by a factor of ${factor.toFixed(2)}, and the peak of memory by one of ${memory.toFixed(2)}.`
  )
}

/** What one organization of a size costs, in the median of its rounds: loaded, at rest, and at rest with a plain scan. */
type Cost = { customers: number; load: Measurement; rest: Measurement; plain: Measurement }

/** What several organizations cost that are mirrored at the same time. */
type SideBySide = { organizations: number; customers: number; load: Measurement; rest: Measurement }

/** The limit for which nights are worked out. */
const REQUESTS_PER_MINUTE = 60
/** Organizations that a worker, or a sync, mirrors at the same time. */
const SIDE_BY_SIDE = 8
const NIGHT_HOURS = 8

/** How many organizations of this size one worker reads in a night, when each is read as fast as its limit allows. */
function organizationsANight({ rest: { requests = 1 } }: Pick<Cost, 'rest'>): number {
  return Math.floor((SIDE_BY_SIDE * NIGHT_HOURS * 60 * REQUESTS_PER_MINUTE) / requests)
}

/** What the figures mean for more organizations than one worker, or one file, can carry. */
function oneWorkerAndMore(largest: Cost, sideBySide: SideBySide): string {
  return [oneWorker(sideBySide), moreWorkers(largest), singleFile(largest, sideBySide)].join('\n\n')
}

function oneWorker({ organizations, customers, load, rest }: SideBySide): string {
  const { requests = 1 } = rest
  const perHour = (organizations * customers * SIDE_BY_SIDE * REQUESTS_PER_MINUTE * 60) / requests
  return (
    `**One worker** mirrors ${SIDE_BY_SIDE} organizations at a time, unless \`jobs.concurrency\` says otherwise. At this limit, that is ` +
    `about ${about(perHour)} customers an hour. ${organizations} organizations of ${number(customers)} customers, mirrored at once from a ` +
    `service without a limit, took ${msPerRequest(rest).toFixed(2)} ms of CPU a request at rest, ${msPerRequest(load).toFixed(2)} ms in an ` +
    `initial sync, and at most ${megabytes(peak(load, rest))} MB of memory, the client of the queue aside. At the limit that is ` +
    `${percent(shareOfCore(rest))} of one core at rest, and ${percent(shareOfCore(load))} in initial syncs. It is more in fact, since each ` +
    'page is saved alone there.'
  )
}

function moreWorkers({ customers, rest }: Cost): string {
  const { requests = 1 } = rest
  const largest = (customers * NIGHT_HOURS * 60 * REQUESTS_PER_MINUTE) / requests
  return (
    '**More workers** help when organizations are due again, or wanted in the morning, before it was their turn: `/readyz` names each that is ' +
    'two hours late. A second worker is the same command with the same configuration and queue (the embedded queue has one worker). It does ' +
    `not help one organization, which one run reads at a time: a night of ${NIGHT_HOURS} hours reads one of about ${about(largest)} ` +
    'customers at most. Nor does it help those that share a limit (`rateLimit.shared`): all workers together keep to it.'
  )
}

function singleFile({ customers, load, rest }: Cost, sideBySide: SideBySide): string {
  const perSecond = ({ wallMs }: Measurement) => customers / (wallMs / 1000)
  return (
    '**One SQLite file** has one writer at a time, whatever the number of workers, and all of them must be on its machine. One worker alone ' +
    `brought ${about(perSecond(load))} new customers a second into a file of ${number(customers)}, and went through ` +
    `${about(perSecond(rest))} unchanged ones; with ${sideBySide.organizations} organizations at a time, ` +
    `${about(rateOf(sideBySide, 'load'))} and ${about(rateOf(sideBySide, 'rest'))}. As many come from ` +
    `${about(atTheLimit(sideBySide, 'rest'))} organizations at ${REQUESTS_PER_MINUTE} requests a minute at rest, and from ` +
    `${about(atTheLimit(sideBySide, 'load'))} in initial syncs. The file carries fewer of them, since each of their pages is saved alone.`
  )
}

function msPerRequest({ cpuMs = 0, requests = 1 }: Measurement): number {
  return cpuMs / requests
}

/** The share of one core that a worker takes when it asks as much as the limits of its organizations allow. */
function shareOfCore(measurement: Measurement): number {
  return (msPerRequest(measurement) * SIDE_BY_SIDE * REQUESTS_PER_MINUTE) / 60_000
}

function peak(...measurements: readonly Measurement[]): number {
  return Math.max(...measurements.map(({ peakRssBytes = 0 }) => peakRssBytes))
}

/** Customers a second, without a limit. */
function rateOf(sideBySide: SideBySide, what: 'load' | 'rest'): number {
  return (sideBySide.organizations * sideBySide.customers) / (sideBySide[what].wallMs / 1000)
}

/** How many organizations that keep to the limit ask as many requests a second. */
function atTheLimit(sideBySide: SideBySide, what: 'load' | 'rest'): number {
  const { wallMs, requests = 0 } = sideBySide[what]
  return Math.floor(requests / (wallMs / 1000) / (REQUESTS_PER_MINUTE / 60))
}
