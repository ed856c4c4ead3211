import {
  type Cost,
  NIGHT_HOURS,
  organizationsANight,
  pastOneMachine,
  REQUESTS_PER_MINUTE,
  type SideBySide,
} from './plan.ts'
import { about, list, megabytes, number, percent, seconds, span, table } from '../markdown.ts'

/** What was measured, and after how many nights in which nothing changed either. */
export type Curves = { costs: readonly Cost[]; sideBySide: SideBySide; nightsBefore: number }

/** The page on performance, with no figure in it that was not measured or does not follow from those that were. */
export function performancePage(
  { costs, sideBySide, nightsBefore }: Curves,
  machine: Readonly<Record<string, string>>,
): string {
  const largest = costs.at(-1)
  if (largest === undefined) throw new Error('There is nothing to write a page about.')
  const parts = [
    INTRODUCTION,
    list(Object.entries(machine).map(([name, value]) => `${name}: ${value}`)),
    '## Against the number of customers',
    'One organization, initial sync into an empty file:',
    costTable(costs, 'load'),
    `A night in which nothing changed, after ${nightsBefore} others, including the initial sync:`,
    costTable(costs, 'rest'),
    `The service answers at once here and is no part of CPU and memory. ${growth(costs)}`.trimEnd(),
    '## Requests against customers',
    requestTable(costs),
    CHAIN,
    `## A night at ${REQUESTS_PER_MINUTE} requests a minute`,
    waiting(largest),
    nightTable(costs),
    '## Past one machine',
    pastOneMachine(largest, sideBySide),
  ]
  return `${parts.join('\n\n')}\n`
}

const INTRODUCTION = `# Performance

Written by \`npm run bench -- --curves\`; do not edit. Each figure is the median of its rounds, against a service in a
process of its own that serves pages rendered beforehand. Measured on:`

const CHAIN = `The chain scan reads overlapping windows, and those shared rows are what proves that no customer was missed. A plain scan
(\`scan: plain\`) asks less, proves nothing, and removes no customer.`

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

function requestTable(costs: readonly Cost[]): string {
  const rows = costs.map((cost) => {
    const { chain, plain } = requestsOf(cost)
    const more = percent(chain / plain - 1)
    return [number(cost.customers), number(plain), number(chain), more, (cost.customers / chain).toFixed(1)]
  })
  return table([['customers', 'plain scan', 'chain scan', 'more', 'customers a request'], ...rows])
}

/** How little of such a night is work. */
function waiting({ customers, rest }: Cost): string {
  const { requests = 0, cpuMs = 0 } = rest
  const share = cpuMs / ((requests / REQUESTS_PER_MINUTE) * 60_000)
  return (
    `Where a service allows ${REQUESTS_PER_MINUTE} requests a minute, a night takes a minute for each ${REQUESTS_PER_MINUTE} requests. ` +
    `With ${number(customers)} customers, the CPU above is ${percent(share)} of that time. It is more in such a night, where each page ` +
    'is saved alone ([measured](scale.md#what-one-organization-takes-measured)), and the program still waits for nearly all of it.'
  )
}

function nightTable(costs: readonly Cost[]): string {
  const rows = costs.map((cost) => {
    const { chain, plain } = requestsOf(cost)
    const { cpuMs = 0 } = cost.rest
    return [
      number(cost.customers),
      span(chain / REQUESTS_PER_MINUTE),
      span((chain - plain) / REQUESTS_PER_MINUTE),
      percent((chain - plain) / chain),
      `${seconds(cpuMs)} s`,
      about(organizationsANight(cost)),
    ]
  })
  const many = `such organizations, one worker, ${NIGHT_HOURS} hours`
  return table([['customers', 'a night takes', 'of it the proof', 'its share', 'CPU', many], ...rows])
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
    `From ${number(least.customers)} customers to ${number(most.customers)}, what one of them takes at rest changes by a ` +
    `factor of ${factor.toFixed(2)}, and the peak of memory by one of ${memory.toFixed(2)}.`
  )
}
