import type { Measurement } from './messages.ts'

/** What one organization of a size costs, in the median of its rounds: loaded, at rest, and at rest with a plain scan. */
export type Cost = { customers: number; load: Measurement; rest: Measurement; plain: Measurement }

/** The rate such services allow by default. */
const REQUESTS_PER_MINUTE = 60
/** Organizations that a sync mirrors side by side. */
const SIDE_BY_SIDE = 8
const NIGHT_HOURS = 8

/** The page on performance, with nothing in it that was not measured or does not follow from what was. */
export function performancePage(costs: readonly Cost[], machine: Readonly<Record<string, string>>): string {
  const largest = costs.at(-1)
  if (largest === undefined) throw new Error('There is nothing to write a page about.')
  const parts = [
    INTRODUCTION,
    list(Object.entries(machine).map(([name, value]) => `${name}: ${value}`)),
    '## Against the number of customers',
    'A first load into an empty file:',
    costTable(costs, 'load'),
    'A night in which nothing changed:',
    costTable(costs, 'rest'),
    `The service answers at once here, so this is what the program itself takes. ${growth(costs)}`,
    '## Requests against customers',
    requestTable(costs),
    CHAIN,
    '## A night at 60 requests a minute',
    `Services of this kind allow ${REQUESTS_PER_MINUTE} requests a minute unless told otherwise. Then the waiting is all there is:`,
    nightTable(costs),
    '## Past one machine',
    pastOneMachine(largest),
  ]
  return `${parts.join('\n\n')}\n`
}

const INTRODUCTION = `# Performance

Written by \`npm run bench -- --curves\`; do not edit. Each figure is the median of its rounds, against a service in a
process of its own that serves pages rendered beforehand. Measured on:`

const CHAIN = `The chain scan reads overlapping windows, and those shared rows are what proves that nobody was missed. A plain scan
(\`scan: plain\`) asks less, proves nothing, and removes nobody.`

function costTable(costs: readonly Cost[], what: 'load' | 'rest'): string {
  const rows = costs.map((cost) => {
    const { wallMs, cpuMs = 0, peakRssBytes = 0, writtenBytes = 0 } = cost[what]
    const perCustomer = `${(writtenBytes / cost.customers).toFixed(0)} B`
    return [
      number(cost.customers),
      `${seconds(wallMs)} s`,
      number(cost.customers / (wallMs / 1000)),
      `${seconds(cpuMs)} s`,
      `${megabytes(peakRssBytes)} MB`,
      `${megabytes(writtenBytes)} MB`,
      perCustomer,
    ]
  })
  return table([['customers', 'time', 'a second', 'CPU', 'peak memory', 'written', 'written a customer'], ...rows])
}

function requestTable(costs: readonly Cost[]): string {
  const rows = costs.map((cost) => {
    const [chain, plain] = [cost.rest.requests ?? 0, cost.plain.requests ?? 0]
    return [number(cost.customers), number(plain), number(chain), percent(chain / plain - 1)]
  })
  return table([['customers', 'plain scan', 'chain scan', 'more'], ...rows])
}

function nightTable(costs: readonly Cost[]): string {
  const rows = costs.map((cost) => {
    const [chain, plain] = [cost.rest.requests ?? 0, cost.plain.requests ?? 0]
    const { cpuMs = 0 } = cost.rest
    return [
      number(cost.customers),
      span(chain / REQUESTS_PER_MINUTE),
      span((chain - plain) / REQUESTS_PER_MINUTE),
      percent((chain - plain) / chain),
      `${seconds(cpuMs)} s`,
      number(Math.floor((SIDE_BY_SIDE * NIGHT_HOURS * 60) / (chain / REQUESTS_PER_MINUTE))),
    ]
  })
  const sizes = 'such organizations in a night of 8 hours'
  return table([['customers', 'a night takes', 'of it the proof', 'its share', 'CPU', sizes], ...rows])
}

function pastOneMachine({ customers, load, rest }: Cost): string {
  const { cpuMs = 0, requests = 1, peakRssBytes = 0, writtenBytes = 0 } = rest
  const cpuMsPerRequest = cpuMs / requests
  const atOnce = Math.floor((1000 * 60) / REQUESTS_PER_MINUTE / cpuMsPerRequest)
  const perHour = Math.round((60 * REQUESTS_PER_MINUTE * customers) / requests)
  const fileBytes = (rest.fileBytes ?? 0) / customers
  const perSecond = (wallMs: number) => number(customers / (wallMs / 1000))
  return [
    `**What one worker carries.** A request costs ${cpuMsPerRequest.toFixed(2)} ms of CPU, its customers included. At ${REQUESTS_PER_MINUTE} ` +
      `requests a minute each, one core keeps up with ${number(atOnce)} organizations at the same moment; a sync runs ` +
      `${SIDE_BY_SIDE} side by side and so needs ${percent(SIDE_BY_SIDE / atOnce)} of a core and at most about ` +
      `${megabytes(peakRssBytes)} MB for the largest of them. The rate limit is what counts: an organization gets ` +
      `${number(perHour)} customers an hour, the last column above is how many fit into a night, and the machine is idle meanwhile.`,
    `**When to add workers.** When the nights of all organizations, divided by ${SIDE_BY_SIDE}, no longer fit between two ` +
      'schedules: first by letting more of them run side by side, for the CPU is there; then by a second worker with a share of ' +
      'the organizations. Where organizations share one rate limit (`rateLimit.shared`), no number of workers makes them faster.',
    `**What the single file bounds.** SQLite has one writer at a time. On this machine a file takes ` +
      `${perSecond(load.wallMs)} new customers a second and checks ${perSecond(rest.wallMs)} unchanged ones, whatever the number ` +
      `of workers, writing ${(writtenBytes / customers).toFixed(0)} bytes for each of them. A customer takes ${fileBytes.toFixed(0)} bytes in ` +
      `the file: ${number(10_000_000)} of them ${((fileBytes * 10_000_000) / 1024 ** 3).toFixed(1)} GB. All workers of a file must be ` +
      'on its machine, for a file in WAL mode cannot be shared over a network.',
    `**Beyond that,** split by organization: a configuration and a file for each machine. Organizations share nothing in ` +
      `the mirror, so nothing is lost; \`ATTACH\` joins the files for a query.`,
  ].join('\n\n')
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

function table(rows: readonly (readonly string[])[]): string {
  const [header = [], ...body] = rows
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(header), line(header.map(() => '--:')), ...body.map(line)].join('\n')
}

function list(items: readonly string[]): string {
  return items.map((item) => `- ${item}`).join('\n')
}

function number(value: number): string {
  return Math.round(value).toLocaleString('en')
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(ms < 10_000 ? 2 : 1)
}

function megabytes(bytes: number): string {
  const value = bytes / 1024 ** 2
  return value < 10 ? value.toFixed(1) : number(value)
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

function span(minutes: number): string {
  if (minutes < 90) return `${minutes.toFixed(1)} min`
  return `${(minutes / 60).toFixed(1)} h`
}
