import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { atRest, firstLoad, type Group, plainly } from './groups.ts'
import { describeMachine } from './measure.ts'
import type { Dataset, Measurement } from './messages.ts'
import { groupTable, type Output } from './report.ts'
import { type GroupResult, type Quantity, samplesOf, spreadOf } from './results.ts'
import { measureScale, NIGHTS, type Scale } from './scale.ts'
import { createStage, NIGHTS_BEFORE, runRounds, type Stage } from './stage.ts'

const PAGE = fileURLToPath(new URL('../docs/explain/performance.md', import.meta.url))

/** The tables of docs/explain/performance.md that are written by the benchmark; its sentences stand around them. */
export const PARTS = { curves: curvesPart, scale: async (plan: PartPlan) => scalePart(await scaleOf(plan)) }

/** `stage` runs in `folder`, which is on the disk to measure. */
type PartPlan = { sizes: readonly number[]; runs: number; folder: string; stage: Stage; output: Output }

/** Measures a part of the page and writes it there, or alone into another file. Returns the exit code. */
export async function writePart(
  part: keyof typeof PARTS,
  args: readonly string[],
  output: Output,
  stageIn = (folder: string): Stage => createStage(folder, {}),
): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  const sizes = (values.size ?? []).map(Number).toSorted((a, b) => a - b)
  const runs = Number(values.runs ?? 5)
  if (![...sizes, runs].every((count) => Number.isSafeInteger(count) && count > 0)) {
    output.stderr.write('--size and --runs must be whole numbers from 1 up\n')
    return 2
  }
  const folder = await mkdtemp(join(values.folder ?? tmpdir(), 'customer-mirror-bench-'))
  const stage = stageIn(folder)
  try {
    const text = await PARTS[part]({ sizes, runs, folder, stage, output })
    const { output: file = PAGE } = values
    await writeFile(file, file === PAGE ? withPart(await readFile(PAGE, 'utf8'), part, text) : text)
    output.stdout.write(`${file} was written.\n`)
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

/** The page with this text between the two comments that bound a part of it. */
function withPart(page: string, part: string, text: string): string {
  const [begin, end] = [`<!-- ${part} -->\n`, `<!-- end of ${part} -->\n`]
  const [before, inside = ''] = page.split(begin)
  const [, after] = inside.split(end)
  if (before === undefined || after === undefined) throw new Error(`The page has no part "${part}".`)
  return `${before}${begin}\n${text}\n${end}${after}`
}

/** A list of just 10,000 is not proven at first, since services stop counting there. */
const SIZES = [10_001, 100_000, 1_000_000]
/** The limit for which nights are worked out. */
const REQUESTS_PER_MINUTE = 60
/** Organizations that a worker, or a sync, mirrors at the same time. */
const SIDE_BY_SIDE = 8
const NIGHT_HOURS = 8

/** What one size costs: loaded, at rest, and at rest with a plain scan; the median of each quantity by itself. */
type Cost = { customers: number; load: Medians; rest: Medians; plain: Medians }
type Medians = Record<Quantity, number>

/** What nights cost against the number of customers, with no figure in it that was not measured or does not follow from those that were. */
async function curvesPart({ sizes, runs, folder, stage, output }: PartPlan): Promise<string> {
  const measure = async (dataset: Dataset): Promise<Cost> => {
    const { organizations, customers } = dataset
    const members = [firstLoad('load', dataset), atRest('rest', dataset), plainly(atRest('plain', dataset))]
    const what = `${organizations} × ${number(customers)} customers, no latency`
    const group: Group = { name: 'curve', about: what, members: organizations === 1 ? members : members.slice(0, 2) }
    const result = await runRounds(group, stage, runs, ({ member, round }) => {
      output.stderr.write(`${what}: ${member} (${round} of ${runs})\n`)
    })
    await stage.clear()
    output.stdout.write(`${groupTable(result, [result])}\n`)
    return { customers, load: medians(result, 'load'), rest: medians(result, 'rest'), plain: medians(result, 'plain') }
  }
  const customers = sizes.length === 0 ? SIZES : sizes
  const costs: Cost[] = []
  for (const size of customers) costs.push(await measure({ organizations: 1, customers: size }))
  const many = await measure({ organizations: SIDE_BY_SIDE, customers: customers.at(-2) ?? customers[0] ?? 0 })
  return textOf([
    `Written by \`npm run bench -- --curves\`; do not edit. Medians of ${runs} rounds. ${measuredOn(describeMachine(folder))}`,
    'One organization, initial sync into an empty file:',
    costTable(costs, 'load'),
    `A night in which nothing changed, after ${NIGHTS_BEFORE} others, including the initial sync:`,
    costTable(costs, 'rest'),
    `Such a night where the service allows ${REQUESTS_PER_MINUTE} requests a minute:`,
    nightTable(costs),
    `${SIDE_BY_SIDE} organizations of ${number(many.customers)} customers at once, with at most ${megabytes(Math.max(many.load.peakRssBytes, many.rest.peakRssBytes))} of memory:`,
    sideBySideTable(many),
  ])
}

function medians(result: GroupResult, name: string): Medians {
  const of = (quantity: Quantity) => spreadOf(samplesOf([result], name, quantity))?.median ?? 0
  return {
    ...{ wallMs: of('wallMs'), cpuMs: of('cpuMs'), peakRssBytes: of('peakRssBytes'), fileBytes: of('fileBytes') },
    ...{ writtenBytes: of('writtenBytes'), requests: of('requests'), customers: of('customers') },
    ...{ longestBlockMs: of('longestBlockMs'), longestWorkMs: of('longestWorkMs') },
  }
}

function costTable(costs: readonly Cost[], what: 'load' | 'rest'): string {
  return table([
    ['customers', 'time', 'a second', 'CPU', 'peak memory', 'written', 'written a customer'],
    ...costs.map(({ customers, [what]: { wallMs, cpuMs, peakRssBytes, writtenBytes } }) => [
      ...[number(customers), seconds(wallMs), number(customers / (wallMs / 1000)), seconds(cpuMs)],
      ...[megabytes(peakRssBytes), megabytes(writtenBytes), `${(writtenBytes / customers).toFixed(0)} B`],
    ]),
  ])
}

function nightTable(costs: readonly Cost[]): string {
  return table([
    [
      ...['customers', 'requests, plain scan', 'chain scan', 'more', 'a night takes', 'of it the proof', 'CPU'],
      `such organizations, one worker, ${NIGHT_HOURS} hours`,
    ],
    ...costs.map(({ customers, rest: { requests, cpuMs }, plain }) => {
      const minutes = requests / REQUESTS_PER_MINUTE
      return [
        ...[number(customers), number(plain.requests), number(requests), percent(requests / plain.requests - 1)],
        ...[
          span(minutes),
          span((requests - plain.requests) / REQUESTS_PER_MINUTE),
          percent(cpuMs / (minutes * 60_000)),
        ],
        about(Math.floor((SIDE_BY_SIDE * NIGHT_HOURS * 60) / minutes)),
      ]
    }),
  ])
}

/** What a worker takes that asks as much as the limits of its organizations allow, and how many of them one file carries. */
function sideBySideTable({ customers, load, rest }: Cost): string {
  const row = (what: string, { wallMs, cpuMs, requests }: Medians) => [
    ...[what, about((SIDE_BY_SIDE * customers) / (wallMs / 1000)), `${(cpuMs / requests).toFixed(2)} ms`],
    percent(((cpuMs / requests) * SIDE_BY_SIDE * REQUESTS_PER_MINUTE) / 60_000),
    about(Math.floor(requests / (wallMs / 1000) / (REQUESTS_PER_MINUTE / 60))),
  ]
  return table([
    [
      '',
      'customers a second',
      'CPU a request',
      'of one core at the limit',
      'organizations at the limit that ask as much',
    ],
    row('initial sync', load),
    row('at rest', rest),
  ])
}

async function scaleOf({ sizes: [customers = 100_000], folder, output }: PartPlan): Promise<Scale> {
  return measureScale(folder, customers, (text) => void output.stderr.write(`${text}\n`))
}

/** The plan that the page works out. */
const PLAN = { organizations: 1000, customers: 100_000, hours: 6, atOnce: 64 }

/** What was measured of one organization, and what follows for a thousand, marked as such. */
export function scalePart(scale: Scale): string {
  const { customers, machine } = scale
  return textOf([
    `Written by \`npm run bench -- --scale\`; do not edit. ${measuredOn(machine)}`,
    `One organization of ${number(customers)} customers, **measured**:`,
    measuredTable(scale),
    `${number(PLAN.organizations)} organizations of ${number(PLAN.customers)} customers within ${PLAN.hours} hours, **worked out** from it:`,
    workedOutTable(scale),
    'Bytes a customer after four nights, **measured**:',
    storageTable(scale),
  ])
}

function measuredTable({ nights }: Scale): string {
  const beside = ({ serverCpuMs, walBytes, networkBytes, transactions }: Scale['nights']['PostgreSQL']['rest']) => [
    ...[seconds(serverCpuMs), megabytes(walBytes), megabytes(networkBytes), number(transactions)],
  ]
  const row = (name: string, { cpuMs = 0, peakRssBytes = 0, writtenBytes = 0 }: Measurement) => [
    ...[name, seconds(cpuMs), megabytes(peakRssBytes), megabytes(writtenBytes)],
  ]
  const head = ['CPU', 'peak memory', 'written by the program', 'CPU of the server', 'WAL', 'to and from it']
  return table([
    ['', ...head, 'transactions'],
    ...(['load', 'rest', 'changed'] as const).flatMap((night) => [
      [...row(`${NIGHTS[night]}, SQLite`, nights.SQLite[night]), '–', '–', '–', '–'],
      [...row(`${NIGHTS[night]}, PostgreSQL`, nights.PostgreSQL[night]), ...beside(nights.PostgreSQL[night])],
    ]),
  ])
}

function workedOutTable({ customers, nights: { SQLite, PostgreSQL }, pageBytes, atOnce }: Scale): string {
  const all = (PLAN.organizations * PLAN.customers) / customers
  const share = (cpuMs = 0) => percent((cpuMs * all) / (PLAN.hours * 3_600_000))
  const size = (bytes = 0) => gigabytes(bytes * all)
  const row = (name: string, of: (night: 'rest' | 'changed') => string) => [name, of('rest'), of('changed')]
  const minutes = (night: 'rest' | 'changed') =>
    ((SQLite[night].requests ?? 0) * PLAN.customers) / customers / REQUESTS_PER_MINUTE
  const alone = SQLite.rest.peakRssBytes ?? 0
  const eachMore = ((atOnce.rest.peakRssBytes ?? 0) - alone) / (atOnce.organizations - 1)
  return table([
    ['', NIGHTS.rest, NIGHTS.changed],
    row(`minutes of one at ${REQUESTS_PER_MINUTE} requests a minute`, (night) => minutes(night).toFixed(1)),
    row('organizations at once that are needed', (night) =>
      number(Math.ceil((PLAN.organizations * minutes(night)) / (PLAN.hours * 60))),
    ),
    row(`organizations that ${PLAN.atOnce} at once can read`, (night) =>
      number(Math.floor((PLAN.atOnce * PLAN.hours * 60) / minutes(night))),
    ),
    row('downloaded from the services, uncompressed', (night) => size((SQLite[night].requests ?? 0) * pageBytes)),
    row('CPU of the process, SQLite, of one core', (night) => share(SQLite[night].cpuMs)),
    row('CPU of the process, PostgreSQL', (night) => share(PostgreSQL[night].cpuMs)),
    row('CPU of the server', (night) => share(PostgreSQL[night].serverCpuMs)),
    row('written to the SQLite file', (night) => size(SQLite[night].writtenBytes)),
    row('WAL of PostgreSQL', (night) => size(PostgreSQL[night].walBytes)),
    row('between process and server', (night) => size(PostgreSQL[night].networkBytes)),
    row('transactions a second', (night) => ((PostgreSQL[night].transactions * all) / (PLAN.hours * 3600)).toFixed(1)),
    [`memory of ${atOnce.organizations} at once (measured)`, megabytes(atOnce.rest.peakRssBytes ?? 0), '–'],
    [`memory of ${PLAN.atOnce} at once`, megabytes(alone + (PLAN.atOnce - 1) * eachMore), '–'],
  ])
}

function storageTable({ customers, storage }: Scale): string {
  const kinds = [
    ['customers, with their indexes', /^customers$/],
    ['the list as last read', /^list/],
    ['changes', /^changes$/],
    ['everything else', /^(?!customers$|list|changes$)/],
    ['together', /^/],
  ] as const
  const bytesOf = (sizes: Record<string, number>, pattern: RegExp) =>
    Object.entries(sizes).reduce((sum, [name, bytes]) => (pattern.test(name) ? sum + bytes : sum), 0) / customers
  const row = (what: string, text: (bytes: number) => string, pattern: RegExp) => [
    ...[what, text(bytesOf(storage.SQLite, pattern)), text(bytesOf(storage.PostgreSQL, pattern))],
  ]
  const all = PLAN.organizations * PLAN.customers
  return table([
    ['', 'SQLite', 'PostgreSQL'],
    ...kinds.map(([name, pattern]) => row(name, (bytes) => `${bytes.toFixed(0)} B`, pattern)),
    row(`${number(all)} customers (worked out)`, (bytes) => gigabytes(bytes * all), /^/),
  ])
}

/** A table of figures, set to the right; its first row is the head. */
function table(rows: readonly (readonly string[])[]): string {
  const [header = [], ...body] = rows
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(header), line(header.map(() => '--:')), ...body.map(line)].join('\n')
}

function textOf(blocks: readonly string[]): string {
  return `${blocks.join('\n\n')}\n`
}

function measuredOn(machine: Readonly<Record<string, string>>): string {
  const facts = Object.entries(machine).map(([name, value]) => `${name} ${value}`)
  return `Measured on: ${facts.join('; ')}.`
}

function number(value: number): string {
  return Math.round(value).toLocaleString('en')
}

/** To three figures, for what does not deserve more. */
function about(value: number): string {
  return number(Number(value.toPrecision(3)))
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`
}

function megabytes(bytes: number): string {
  const value = bytes / 1024 ** 2
  return `${value < 10 ? value.toFixed(1) : number(value)} MB`
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1024 ** 3).toFixed(1)} GB`
}

function percent(share: number): string {
  return share > 0 && share < 0.0005 ? 'less than 0.1 %' : `${(share * 100).toFixed(1)} %`
}

function span(minutes: number): string {
  return minutes < 90 ? `${minutes.toFixed(1)} min` : `${(minutes / 60).toFixed(1)} h`
}
