import {
  CONCURRENCY,
  EXPORTS,
  floorOf,
  LEAST_TO_COMPARE,
  MOST_ORGANIZATIONS,
  type Night,
  NIGHTS,
  ON_BOTH,
  SYNC_OF_40,
  SYNC_OF_40_FROM_NODE_20,
  wholeName,
} from './groups.ts'
import { QUICK_SCANS } from './quick.ts'
import { SERVED } from './serving.ts'
import { type GroupResult, ratiosOf, samplesOf, sharesOf, spreadOf } from './results.ts'

/** What the program is to achieve. */
export type Target = {
  title: string
  /** A ratio between things measured in turns, or a number of requests, holds on any machine; an amount is that of this machine. */
  kind: 'ratio' | 'amount'
  limit: number
  unit: '×' | 'MB' | 'ms' | 'bytes' | 'requests'
  /** The size from which it holds; with fewer customers it is not judged, and no other size is judged by another limit. */
  leastCustomers?: number
  samples: (results: readonly GroupResult[]) => number[]
}

/** `farOutside` is worse than the limit by more than its double: no noise explains that. */
export type Verdict = ReturnType<typeof verdicts>[number]

function wall(of: string, ...over: string[]): Target['samples'] {
  return (results) => ratiosOf(results, { of, over })
}

function megabytes(of: string): Target['samples'] {
  return (results) => samplesOf(results, of, 'peakRssBytes').map((bytes) => bytes / 1024 ** 2)
}

/** Wall time over what the requests take when each is answered after exactly the latency, and nothing else takes time. */
function overWaiting(of: string, latencyMs: number): Target['samples'] {
  return (results) =>
    sharesOf(results, of, 'wallMs', 'requests').map((msPerRequest) => msPerRequest / (latencyMs / CONCURRENCY))
}

function memory(of: string, over: string): Target['samples'] {
  return (results) => ratiosOf(results, { of, over: [over], quantity: 'peakRssBytes' })
}

const ONE_LARGE = 'initial sync, one organization'
const ONE_LARGE_AT_REST = 'at rest, one organization'

/** The limits are of one run on two cores. */
const TARGETS: readonly Target[] = [
  ratio('at rest, over downloading the same', 1.2, wall('at rest', floorOf('at rest'))),
  ratio('the second night, over downloading the same', 1.2, wall('the second night', floorOf('the second night'))),
  ratio('1 % changed, over downloading the same', 1.5, wall('1 % changed', floorOf('1 % changed'))),
  ratio('1 % gone, over downloading the same', 1.5, wall('1 % gone', floorOf('1 % gone'))),
  ratio(
    '1 % new at the top, over downloading the same',
    1.5,
    wall('1 % new at the top', floorOf('1 % new at the top')),
  ),
  ratio(
    'initial sync, over downloading and inserting the same',
    1.35,
    wall('initial sync', floorOf('initial sync'), 'rows inserted'),
  ),
  ratio('the chain scan at rest, over the plain scan', 1.2, wall('at rest', 'at rest, plain')),
  // A wait takes no longer where other programs are busy.
  amount('at rest at 20 ms, over waiting alone', 1.25, '×', overWaiting('at rest, 20 ms', 20)),
  amount('initial sync at 20 ms, over waiting alone', 1.25, '×', overWaiting('initial sync, 20 ms', 20)),
  amount('written to disk per customer at rest', 100, 'bytes', (results) =>
    sharesOf(results, 'at rest', 'writtenBytes', 'customers'),
  ),
  ...aboutMillion([
    ratio('peak memory of loading 1,000,000, over 100,000', 1.15, memory(ONE_LARGE, 'initial sync')),
    ratio('peak memory of 1,000,000 at rest, over 100,000', 1.15, memory(ONE_LARGE_AT_REST, 'at rest')),
    amount('peak memory of loading 1,000,000', 220, 'MB', megabytes(ONE_LARGE)),
    amount('peak memory of 1,000,000 at rest', 220, 'MB', megabytes(ONE_LARGE_AT_REST)),
    ...Object.values(EXPORTS).map((name) => amount(`peak memory of 1,000,000, ${name}`, 250, 'MB', megabytes(name))),
    ratio('loading 100 × 10,001, over 1 × 1,000,000', 1.1, wall('initial sync, a hundred organizations', ONE_LARGE)),
    ratio('100 × 10,001 at rest, over 1 × 1,000,000', 1.1, wall('at rest, a hundred organizations', ONE_LARGE_AT_REST)),
    ...Object.values(MOST_ORGANIZATIONS).flatMap((name) => [
      amount(`peak memory, ${name}`, 300, 'MB', megabytes(name)),
      amount(`longest turn of the event loop, ${name}`, 200, 'ms', (results) =>
        samplesOf(results, name, 'longestBlockMs'),
      ),
    ]),
  ]),
  mostRequests('requests of a quick run, by creation', 40, QUICK_SCANS.creation),
  mostRequests('requests of a quick run, by name', 100, QUICK_SCANS.name),
  ...Object.entries(SERVED).map(([kind, { served, byHand }]) =>
    ratio(`${kind} served, over a handler by hand`, 1, wall(served, byHand)),
  ),
  ...NIGHTS.map((night) => besidePython(night, night === 'initial sync' ? 1.2 : 0.9)),
  ...ON_BOTH.map(({ title, limit, postgres, sqlite }) => ({
    ...ratio(title, limit, wall(postgres, sqlite)),
    leastCustomers: LEAST_TO_COMPARE,
  })),
  amount(SYNC_OF_40, 300, 'ms', (results) => samplesOf(results, SYNC_OF_40, 'wallMs')),
  amount(SYNC_OF_40_FROM_NODE_20, 400, 'ms', (results) => samplesOf(results, SYNC_OF_40_FROM_NODE_20, 'wallMs')),
  amount('customer-mirror --help', 120, 'ms', (results) => samplesOf(results, '--help', 'wallMs')),
  amount('customer-mirror status', 200, 'ms', (results) => samplesOf(results, 'status', 'wallMs')),
]

function ratio(title: string, limit: number, samples: Target['samples']): Target {
  return { title, kind: 'ratio', limit, unit: '×', samples }
}

function amount(title: string, limit: number, unit: Target['unit'], samples: Target['samples']): Target {
  return { title, kind: 'amount', limit, unit, samples }
}

/** Judged by the most of all rounds. */
function mostRequests(title: string, limit: number, scan: string): Target {
  const samples: Target['samples'] = (results) => {
    const requests = samplesOf(results, scan, 'requests')
    return requests.length === 0 ? [] : [Math.max(...requests)]
  }
  return { title, kind: 'ratio', limit, unit: 'requests', samples }
}

/** With fewer customers, starting up is most of it. */
function besidePython(night: Night, limit: number): Target {
  const title = `whole commands, ${night}: sync over Python by hand`
  const target = ratio(title, limit, wall(wholeName('sync', night), wholeName('python', night)))
  return { ...target, leastCustomers: LEAST_TO_COMPARE }
}

function aboutMillion(targets: readonly Target[]): Target[] {
  return targets.map((target) => ({ ...target, leastCustomers: 1_000_000 }))
}

/** The targets that mean something with so many customers. */
export function holdingFor(customers: number): Target[] {
  return TARGETS.filter(({ leastCustomers = 0 }) => customers >= leastCustomers)
}

/** What became of each target that was measured, judged by the median. */
export function verdicts(results: readonly GroupResult[], targets: readonly Target[]) {
  return targets.flatMap(({ title, kind, limit, unit, samples }) => {
    const measured = spreadOf(samples(results))?.median
    if (measured === undefined) return []
    return { title, kind, limit, unit, measured, met: measured <= limit, farOutside: measured > 2 * limit }
  })
}
