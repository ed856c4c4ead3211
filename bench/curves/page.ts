import {
  type Cost,
  NIGHT_HOURS,
  organizationsANight,
  oneWorkerAndMore,
  REQUESTS_PER_MINUTE,
  type SideBySide,
} from './plan.ts'
import { about, measuredOn, megabytes, number, percent, seconds, span, table } from '../markdown.ts'

/** What was measured, and after how many nights in which nothing changed either. */
export type Curves = { costs: readonly Cost[]; sideBySide: SideBySide; nightsBefore: number }

/** The part on the number of customers, with no figure in it that was not measured or does not follow from those that were. */
export function curvesPart(
  { costs, sideBySide, nightsBefore }: Curves,
  machine: Readonly<Record<string, string>>,
): string {
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
