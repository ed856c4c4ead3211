import { about, megabytes, number, percent, span } from '../markdown.ts'
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
export function pastOneMachine(largest: Cost, sideBySide: SideBySide): string {
  return [oneWorker(sideBySide), moreWorkers(largest), singleFile(largest, sideBySide), beyond(largest)].join('\n\n')
}

function oneWorker({ organizations, customers, load, rest }: SideBySide): string {
  const { requests = 1 } = rest
  const perHour = (organizations * customers * SIDE_BY_SIDE * REQUESTS_PER_MINUTE * 60) / requests
  return (
    `**What one worker carries.** A worker mirrors ${SIDE_BY_SIDE} organizations at a time, unless \`jobs.concurrency\` says otherwise, and the others wait for their ` +
    `turn. At ${REQUESTS_PER_MINUTE} requests a minute each, that is about ${about(perHour)} customers an hour; the last column above ` +
    `says how many organizations that makes in a night. ${organizations} organizations of ${number(customers)} customers, ` +
    `mirrored at the same time from a service without a limit, took ${msPerRequest(rest).toFixed(2)} ms of CPU a request at rest ` +
    `and ${msPerRequest(load).toFixed(2)} ms in an initial sync, and no more than ${megabytes(peak(load, rest))} MB of memory, what talks to the queue aside. At ` +
    `the limit, the same CPU for each request is ${percent(shareOfCore(rest))} of one core at rest and ${percent(shareOfCore(load))} in initial syncs. In fact it is ` +
    'more, since each page is saved alone there ([measured](scale.md#what-one-organization-takes-measured)); a worker still waits most of the time.'
  )
}

function moreWorkers({ customers, rest }: Cost): string {
  const { requests = 1 } = rest
  const largest = (customers * NIGHT_HOURS * 60 * REQUESTS_PER_MINUTE) / requests
  return (
    '**When to add workers.** When organizations are due again, or wanted in the morning, before it was their turn: `/readyz` names ' +
    'each that was not mirrored within two hours of being due. A second worker is the same command on the same machine, with the same ' +
    `configuration and the same queue in Redis or PostgreSQL (the embedded queue has one worker), and takes ${SIDE_BY_SIDE} more ` +
    'at a time. How many organizations one process reads at this limit is worked out in [a thousand organizations](scale.md#how-many-at-once). More ' +
    'workers do not help one organization, which one run reads at a time: at this limit, a night of ' +
    `${NIGHT_HOURS} hours reads one of about ${about(largest)} customers at most. Nor do they help those that share a limit ` +
    '(`rateLimit.shared`): all workers together keep to it.'
  )
}

function singleFile({ customers, load, rest }: Cost, sideBySide: SideBySide): string {
  const { fileBytes = 0, writtenBytes = 0 } = rest
  const perSecond = ({ wallMs }: Measurement) => customers / (wallMs / 1000)
  const bytes = fileBytes / customers
  return (
    '**What the single file bounds.** In SQLite one transaction writes at a time, whatever the number of workers. One worker alone ' +
    `brought ${about(perSecond(load))} new customers a second into a file of ${number(customers)}, and went through ` +
    `${about(perSecond(rest))} unchanged ones, writing ${(writtenBytes / customers).toFixed(0)} bytes for each; with ` +
    `${sideBySide.organizations} organizations at a time, ${about(rateOf(sideBySide, 'load'))} and ` +
    `${about(rateOf(sideBySide, 'rest'))}. At rest that is as many ` +
    `customers a second as ${about(atTheLimit(sideBySide, 'rest'))} organizations at ${REQUESTS_PER_MINUTE} requests a minute bring, and ` +
    `in initial syncs as ${about(atTheLimit(sideBySide, 'load'))}; the file carries fewer of them, since each of their pages is saved alone. A customer of this list takes ${bytes.toFixed(0)} bytes of the file, ` +
    `${number(10_000_000)} of them ${((bytes * 10_000_000) / 1024 ** 3).toFixed(1)} GB. All workers of a file must be on its machine: a ` +
    'file in WAL mode cannot be shared over a network.'
  )
}

function beyond({ customers, rest }: Cost): string {
  const night = span((rest.requests ?? 0) / REQUESTS_PER_MINUTE)
  return (
    '**Beyond that,** split by organization: each machine has a configuration, a file and a queue of its own, or a ' +
    '`?prefix=` of its own in a queue they share. No run ever needs two organizations, so none gets slower or faster: ' +
    `${number(customers)} customers still take ${night} at this limit. Two things are lost. That an organization ` +
    'was given the key of another (`tenant-mixup`) is noticed only where both are in one file; and a query over all of them must ' +
    '`ATTACH` the files, of which SQLite takes ten at a time unless it was built for more.'
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
