import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { atRest, firstLoad, type Group, plainly } from './groups.ts'
import { describeMachine } from './measure.ts'
import type { Dataset } from './messages.ts'
import { groupTable, type Output } from './report.ts'
import { type GroupResult, type Quantity, samplesOf, spreadOf } from './results.ts'
import { NIGHTS_BEFORE, runRounds, type Stage } from './stage.ts'
import { count } from '../src/text/wording.ts'

const PAGE = fileURLToPath(new URL('../docs/explain/performance.md', import.meta.url))

/** `stage` runs in `folder`, which is on the disk to measure. */
type CurvesPlan = { runs: number; folder: string; stage: Stage; output: Output }

/** Measures the tables of docs/explain/performance.md, and writes them there between its sentences. */
export async function writeCurves(plan: CurvesPlan): Promise<void> {
  const text = await curvesPart(plan)
  await writeFile(PAGE, withCurves(await readFile(PAGE, 'utf8'), text))
  plan.output.stdout.write(`${PAGE} was written.\n`)
}

/** The page with this text between the two comments that bound its tables. */
function withCurves(page: string, text: string): string {
  const [begin, end] = ['<!-- curves -->\n', '<!-- end of curves -->\n']
  const [before, inside = ''] = page.split(begin)
  const [, after] = inside.split(end)
  if (before === undefined || after === undefined) throw new Error('The page has no place for the curves.')
  return `${before}${begin}\n${text}\n${end}${after}`
}

/** A list of just 1,000 or 10,000 is not proven at first, since services stop counting there. */
const SIZES = [1001, 10_001, 100_000, 1_000_000, 3_000_000] as const
/** The limit for which nights are worked out. */
const REQUESTS_PER_MINUTE = 60
/** Organizations that a worker, or a sync, mirrors at the same time. */
const SIDE_BY_SIDE = 8
const NIGHT_HOURS = 8

/** What one size costs: loaded, at rest, and at rest with a plain scan; the median of each quantity by itself. */
type Cost = { customers: number; load: Medians; rest: Medians; plain: Medians }
type Medians = ReturnType<typeof medians>

/** What nights cost against the number of customers, with no figure in it that was not measured or does not follow from those that were. */
async function curvesPart({ runs, folder, stage, output }: CurvesPlan): Promise<string> {
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
  const costs: Cost[] = []
  for (const size of SIZES) costs.push(await measure({ organizations: 1, customers: size }))
  const many = await measure({ organizations: SIDE_BY_SIDE, customers: 100_000 })
  return textOf([
    `Written by \`npm run bench -- --curves\`; do not edit. Medians of ${count(runs, 'round')}. ${measuredOn(describeMachine(folder))}`,
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

function medians(result: GroupResult, name: string) {
  const of = (quantity: Quantity) => spreadOf(samplesOf([result], name, quantity))?.median ?? 0
  return {
    ...{ wallMs: of('wallMs'), cpuMs: of('cpuMs'), requests: of('requests') },
    ...{ peakRssBytes: of('peakRssBytes'), writtenBytes: of('writtenBytes') },
  }
}

function costTable(costs: readonly Cost[], what: 'load' | 'rest'): string {
  return table([
    ['customers', 'time', 'a second', 'CPU', 'CPU a customer', 'peak memory', 'written', 'written a customer'],
    ...costs.map(({ customers, [what]: { wallMs, cpuMs, peakRssBytes, writtenBytes } }) => [
      ...[number(customers), seconds(wallMs), number(customers / (wallMs / 1000)), seconds(cpuMs)],
      `${((1000 * cpuMs) / customers).toFixed(1)} µs`,
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

function percent(share: number): string {
  return share > 0 && share < 0.0005 ? 'less than 0.1 %' : `${(share * 100).toFixed(1)} %`
}

function span(minutes: number): string {
  return minutes < 90 ? `${minutes.toFixed(1)} min` : `${(minutes / 60).toFixed(1)} h`
}
