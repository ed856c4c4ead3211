import { about, megabytes, number, percent } from '../markdown.ts'
import type { Measurement } from '../messages.ts'

/** What one organization of a size costs, in the median of its rounds: loaded, at rest, and at rest with a plain scan. */
export type Cost = { customers: number; load: Measurement; rest: Measurement; plain: Measurement }

/** What several organizations cost that are mirrored at the same time. */
export type SideBySide = { organizations: number; customers: number; load: Measurement; rest: Measurement }

/** The limit for which nights are worked out. */
export const REQUESTS_PER_MINUTE = 60
/** Organizations that a worker, or a sync, mirrors at the same time. */
export const SIDE_BY_SIDE = 8
export const NIGHT_HOURS = 8

/** How many organizations of this size one worker reads in a night, when each is read as fast as its limit allows. */
export function organizationsANight({ rest: { requests = 1 } }: Pick<Cost, 'rest'>): number {
  return Math.floor((SIDE_BY_SIDE * NIGHT_HOURS * 60 * REQUESTS_PER_MINUTE) / requests)
}

/** What the figures mean for more organizations than one worker, or one file, can carry. */
export function oneWorkerAndMore(largest: Cost, sideBySide: SideBySide): string {
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
