import { failureBlocks } from '../../src/cli/output/explain-failure.ts'
import type { Outcome } from '../../src/sync/mirror-organization.ts'
import { addsUp, type Report } from '../../src/model/report.ts'
import {
  type KnownList,
  namesBetween,
  type Person,
  wasListedEver,
  wasListedThroughout,
  wasOddBetween,
} from './known-list.ts'
import type { Reader } from './mirror-reader.ts'

/** A run, with the known facts about the list it read. Ticks are those of the list. */
export type Watched = {
  outcome: Outcome
  list: KnownList
  /** Start of its scan, which may be the start of the run it continued. */
  startTick: number
  endTick: number
  /** Whether the service hid no customer from the list, and its list was current. */
  isHonest: boolean
  /** Whether customers were hidden from the list, and searches might not find them. */
  isHidden: boolean
  /** The list did not change while it was read. */
  isStatic: boolean
  /** If the service stopped, the customers created after that: only these may not be removed. */
  newerThan: readonly Person[] | undefined
  before: Stored
  after: Stored
}

/** Every wrong statement of a run, in its report and in the mirror. */
export function untruthsOf(watched: Watched): string[] {
  const { report } = watched.outcome
  return [
    ...untrueNumbers(watched),
    ...wrongRemovals(watched),
    // An answer that wrongly reports an empty list cannot be recognized: removals are held.
    ...(report.proof !== 'unproven' && watched.isHonest && report.received > 0 ? untrueProof(watched) : []),
    ...untrueDates(watched),
    ...(report.status === 'complete' ? unreadBehindNothing(watched) : untrueFailure(watched)),
  ]
}

function untrueNumbers({ outcome: { report }, before, after }: Watched): string[] {
  const stored = after.runs.find(({ id }) => id === report.runId)
  const mine = after.changes.filter(({ run_id }) => run_id === report.runId)
  const counted = (change: string) => mine.filter((row) => row.change === change).length
  const pairs: [string, unknown, unknown][] = [
    ['the identity', addsUp(report), true],
    ...STORED.map((name): [string, unknown, unknown] => [name, stored?.[name], report[name]]),
    ['customers inserted', after.customers.size - before.customers.size, report.inserted],
    ['changes removed', counted('removed'), report.removed],
    ['changes returned', counted('returned'), report.returned],
    // A run is a baseline until one has read the list to its end.
    ['changes added', counted('added'), before.freshness?.read_as_of == null ? 0 : report.inserted],
    ['a duration of at least 0', report.durationMs >= 0 && report.waitedMs >= 0, true],
    ['held', after.freshness?.held, after.waiting],
  ]
  return pairs
    .filter(([, one, other]) => one !== other)
    .map(([name, one, other]) => `${name}: ${String(one)} and ${String(other)}`)
}

const STORED = [
  ...(['status', 'proof', 'requests', 'pages', 'received', 'inserted', 'updated', 'unchanged'] as const),
  ...(['duplicates', 'rejected', 'returned', 'missing', 'removed', 'held'] as const),
] satisfies (keyof Report)[]

function wrongRemovals(watched: Watched): string[] {
  const { outcome, list, startTick, endTick, newerThan, before, after } = watched
  const { report } = outcome
  const stored = after.runs.find(({ id }) => id === report.runId)
  const { isWhole }: { isWhole?: boolean } = JSON.parse(stored?.certificate ?? '{}')
  const mayMark = report.status === 'complete' && (report.proof !== 'unproven' || isWhole === true)
  const marked = mayMark || report.missing + report.removed === 0 ? [] : ['customers were marked without a proof']
  const removed = [...after.customers.values()].filter(
    ({ id, removed_at }) => removed_at !== null && before.customers.get(id)?.removed_at === null,
  )
  const listed = removed.filter(({ id }) => {
    const person = list.find(id)
    if (person === undefined || !wasListedThroughout(person, startTick, endTick)) return false
    return newerThan === undefined || newerThan.every(({ createdAt }) => (createdAt ?? '') < (person.createdAt ?? ''))
  })
  return [...marked, ...(watched.isHidden ? [] : listed).map(({ id }) => `${id} was removed and is listed`)]
}

function untrueProof({ outcome: { report }, list, startTick, endTick, after }: Watched): string[] {
  return list.people.flatMap((person) => {
    const row = after.customers.get(person.id)
    const isOdd = wasOddBetween(person, startTick, endTick)
    const isThere = row !== undefined && row.missing_since === null && row.removed_at === null
    if (wasListedThroughout(person, startTick, endTick)) {
      if (report.proof === 'settled' && mayHaveMoved(person, list, { startTick, endTick })) return []
      if (!isThere && !(isOdd && row === undefined)) return [`${report.proof}, and ${person.n} is unread`]
      const isStale = !isOdd && !namesBetween(person, startTick, endTick).includes(String(row?.name))
      return isStale ? [`${report.proof}, and ${person.n} has old values`] : []
    }
    const isGhost = isThere && !after.held.has(row.row_id) && !wasListedEver(person, startTick, endTick)
    return isGhost ? [`${report.proof}, and ${person.n} had left before`] : []
  })
}

/** A settled scan says nothing of customers that did not keep their place. In other orders than these a change moves no customer. */
function mayHaveMoved({ versions }: Person, { order }: KnownList, { startTick, endTick }: Ticks): boolean {
  if (order === 'shuffled' || order === 'restless ties') return true
  return versions.some(({ from }) => from >= startTick && from <= endTick)
}

type Ticks = Pick<Watched, 'startTick' | 'endTick'>

function untrueDates({ outcome: { report }, before, after }: Watched): string[] {
  const asOf = after.runs.find(({ id }) => id === report.runId)?.read_as_of ?? null
  const isPart = report.reasons.some((reason) => PARTS.has(reason))
  const read = report.status === 'complete' && !isPart ? asOf : (before.freshness?.read_as_of ?? null)
  const proven =
    report.proof === 'proven' || report.proof === 'settled' ? asOf : (before.freshness?.proven_as_of ?? null)
  const dates = [
    ...(after.freshness?.read_as_of === read ? [] : ['read_as_of']),
    ...(after.freshness?.proven_as_of === proven ? [] : ['proven_as_of']),
  ]
  return dates.map(
    (name) => `${name} after ${report.status} ${report.reasons.join()}: ${JSON.stringify(after.freshness)}`,
  )
}

/** Reasons of a run that is complete and has not read the list to its end. */
const PARTS: ReadonlySet<string> = new Set(['page-limit', 'cached-answer'])

/** A wrong page may cost the proof; if a fifth of a list at rest is unread, the run must report why. */
function unreadBehindNothing({ outcome: { report }, list, isHonest, isStatic, after }: Watched): string[] {
  if (!isHonest || !isStatic || report.reasons.some((reason) => EXPLAINED.has(reason))) return []
  if (list.order === 'shuffled' || list.order === 'restless ties') return []
  const unread = list.listed.filter(
    ({ id, odd, isForgotten }) => !after.customers.has(id) && odd.length === 0 && isForgotten !== true,
  )
  if (unread.length * 5 <= list.listed.length) return []
  return [`complete (${report.reasons.join()}), and ${unread.length} of ${list.listed.length} are unread`]
}

const EXPLAINED: ReadonlySet<string> = new Set([
  ...PARTS,
  ...[
    'short-page',
    'total-mismatch',
    'page-mismatch',
    'repeated-page',
    'page-cap',
    'hole',
    'too-large',
    'duplicate-id',
  ],
])

function untrueFailure({ outcome }: Watched): string[] {
  const { report, error } = outcome
  if (error === undefined || report.error === undefined) return [`${report.status} without an error`]
  const organizations = [{ id: report.organization, scan: 'chain' as const, resumeWithinMs: 0 }]
  const blocks = failureBlocks([outcome], { organizations, columns: undefined, dryRun: false, config: undefined })
  const isStopped = report.status === 'interrupted'
  return [
    ...(blocks.includes(report.organization) ? [] : ['a failure without its organization']),
    ...(isStopped || blocks.includes('fix: ') ? [] : [`a failure without a fix: ${blocks}`]),
    ...(report.error.code === 'unexpected' ? [`a defect: ${report.error.message}`] : []),
    ...(/\.ts:\d|undefined|\[object/.test(blocks) ? [`a failure that says nothing: ${blocks}`] : []),
  ]
}

type CustomerRow = {
  row_id: number
  id: string
  name: string | null
  email: string | null
  missing_since: string | null
  removed_at: string | null
  last_run_id: number
}
type RunRow = { id: number; read_as_of: string; trusted_pages: number | null; certificate: string | null } & Record<
  (typeof STORED)[number],
  unknown
>
type Freshness = { read_as_of: string | null; proven_as_of: string | null; held: number }

/** The contents of the mirror for one organization. */
export type Stored = ReturnType<typeof readStored>

export function readStored(db: Reader, organization: string) {
  const all = <Found>(sql: string) => db.all<Found>(sql, organization)
  const customers = all<CustomerRow>('SELECT * FROM customers WHERE organization = ?')
  return {
    customers: new Map(customers.map((row) => [row.id, row])),
    changes: all<{ run_id: number; change: string }>('SELECT run_id, change FROM changes WHERE organization = ?'),
    runs: all<RunRow>('SELECT * FROM runs WHERE organization = ?'),
    held: new Set(
      all<{ row_id: number }>('SELECT row_id FROM held_removals WHERE organization = ?').map((row) => row.row_id),
    ),
    waiting: all('SELECT 1 FROM held_removals WHERE organization = ? AND discarded = 0').length,
    freshness: all<Freshness>('SELECT * FROM freshness WHERE organization = ?')[0],
  }
}
