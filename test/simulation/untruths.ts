import { failureBlocks } from '../../src/cli/output/run-words.ts'
import { addsUp, type Report } from '../../src/model/report.ts'
import type { Outcome } from '../../src/sync/mirror-organization.ts'
import { type KnownList, namesBetween, type Person, wasListedThroughout, overlap } from '../support/known-list.ts'
import type { Reader } from '../support/mirror-reader.ts'

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

function untrueNumbers({ outcome, before, after }: Watched): string[] {
  const { report } = outcome
  const mine = after.changes.filter(({ run_id }) => run_id === report.runId)
  const counted = (change: string) => mine.filter((row) => row.change === change).length
  return unequalNumbers({ outcome, before, after }, [
    ['changes removed', counted('removed'), report.removed],
    ['changes returned', counted('returned'), report.returned],
    // A run is a baseline until one has read the list to its end.
    ['changes added', counted('added'), before.freshness?.read_as_of == null ? 0 : report.inserted],
    ['a duration of at least 0', report.durationMs >= 0 && report.waitedMs >= 0, true],
    ['held', after.freshness?.held, after.waiting],
  ])
}

type Pair = [what: string, one: unknown, other: unknown]

/** What a report says otherwise than the row of its run and the customers, and other pairs that differ. */
function unequalNumbers(
  { outcome: { report }, before, after }: Pick<Watched, 'outcome' | 'before' | 'after'>,
  others: readonly Pair[],
): string[] {
  const stored = after.runs.find(({ id }) => id === report.runId)
  return unequal([
    ['the identity', addsUp(report), true],
    ['customers inserted', after.customers.size - before.customers.size, report.inserted],
    ...STORED.map((name): Pair => [name, stored?.[name], report[name]]),
    ...others,
  ])
}

function unequal(pairs: readonly Pair[]): string[] {
  return pairs
    .filter(([, one, other]) => one !== other)
    .map(([what, one, other]) => `${what}: ${String(one)} and ${String(other)}`)
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
  const gone = [...after.customers.values()].filter(({ removed_at }) => removed_at !== null)
  const removed = gone.filter(({ id }) => before.customers.get(id)?.removed_at === null)
  const listed = removed.filter(({ id }) => {
    const person = list.find(id)
    if (person === undefined || !wasListedThroughout(person, startTick, endTick)) return false
    return newerThan === undefined || newerThan.every(({ createdAt }) => (createdAt ?? '') < (person.createdAt ?? ''))
  })
  return [...marked, ...(watched.isHidden ? [] : listed).map(({ id }) => `${id} was removed and is listed`)]
}

function untrueProof({ outcome: { report }, list, startTick, endTick, after }: Watched): string[] {
  // A discard also speaks of those who became absent since, until there are half as many more: all stay as they are.
  const isDiscarded = report.held > 0 && after.waiting === 0
  return list.people.flatMap((person) => {
    const row = after.customers.get(person.id)
    const isOdd = overlap(person.odd, startTick, endTick)
    const isThere = row !== undefined && row.missing_since === null && row.removed_at === null
    if (wasListedThroughout(person, startTick, endTick)) {
      if (report.proof === 'settled' && mayHaveMoved(person, list, { startTick, endTick })) return []
      if (!isThere && !(isOdd && row === undefined)) return [`${report.proof}, and ${person.n} is unread`]
      const isStale = !isOdd && !namesBetween(person, startTick, endTick).includes(String(row?.name))
      return isStale ? [`${report.proof}, and ${person.n} has old values`] : []
    }
    const isGhost = isThere && !isDiscarded && !after.held.has(row.row_id) && !overlap(person.spans, startTick, endTick)
    return isGhost ? [`${report.proof}, and ${person.n} had left before`] : []
  })
}

/** A settled scan says nothing of customers that did not keep their place. In other orders than these a change moves no customer. */
function mayHaveMoved({ versions }: Person, { order }: KnownList, { startTick, endTick }: Ticks): boolean {
  if (order === 'shuffled' || order === 'ties asc') return true
  return versions.some(({ from }) => from >= startTick && from <= endTick)
}

type Ticks = Pick<Watched, 'startTick' | 'endTick'>

function untrueDates({ outcome: { report }, before, after }: Watched): string[] {
  const asOf = after.runs.find(({ id }) => id === report.runId)?.read_as_of ?? null
  // A list of which most is no customer counts as not read, and the run before it stays the current one.
  const isPart = report.reasons.includes('cached-answer') || report.rejected > report.received / 2
  const isRead = report.status === 'complete' && !isPart
  const read = isRead ? asOf : (before.freshness?.read_as_of ?? null)
  const proven = isRead && report.proof !== 'unproven' ? asOf : (before.freshness?.proven_as_of ?? null)
  const when = `after ${report.status} ${report.reasons.join()}`
  return unequal([
    [`read_as_of ${when}`, after.freshness?.read_as_of, read],
    [`proven_as_of ${when}`, after.freshness?.proven_as_of, proven],
  ])
}

/** A wrong page may cost the proof; if a fifth of a list at rest is unread, the run must report why. */
function unreadBehindNothing({ outcome: { report }, list, isHonest, isStatic, after }: Watched): string[] {
  if (!isHonest || !isStatic || report.reasons.some((reason) => EXPLAINED.has(reason))) return []
  if (list.order === 'shuffled' || list.order === 'ties asc') return []
  const known = list.listed.filter(({ odd, isForgotten }) => !isForgotten && odd.length === 0)
  const unread = known.filter(({ id }) => !after.customers.has(id))
  if (unread.length * 5 <= list.listed.length) return []
  return [`complete (${report.reasons.join()}), and ${unread.length} of ${list.listed.length} are unread`]
}

const EXPLAINED: ReadonlySet<string> = new Set([
  ...['cached-answer', 'short-page', 'total-mismatch', 'page-mismatch', 'repeated-page'],
  ...['page-cap', 'hole', 'too-large', 'duplicate-id', 'offset-limit', 'plain-scan'],
])

function untrueFailure({ outcome }: Watched): string[] {
  const { report, error } = outcome
  if (error === undefined || report.error === undefined) return [`${report.status} without an error`]
  const blocks = failureBlocks([outcome], {})
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
type RunRow = {
  id: number
  read_as_of: string
  trusted_pages: number | null
  resumed_from: number | null
  certificate: string | null
  error_code: string | null
} & Record<(typeof STORED)[number], unknown>
type Freshness = { read_as_of: string | null; proven_as_of: string | null; held: number }

type Stored = ReturnType<typeof readStored>

export function readStored(db: Reader, organization: string) {
  const all = <Found>(sql: string) => db.all<Found>(sql, organization)
  const customers = all<CustomerRow>('SELECT * FROM customers WHERE organization = ?')
  const held = all<{ row_id: number }>('SELECT row_id FROM held_rows WHERE organization = ?')
  return {
    customers: new Map(customers.map((row) => [row.id, row])),
    changes: all<{ run_id: number; change: string }>('SELECT run_id, change FROM changes WHERE organization = ?'),
    runs: all<RunRow>('SELECT * FROM runs WHERE organization = ?'),
    held: new Set(held.map((row) => row.row_id)),
    waiting: all('SELECT 1 FROM held_rows WHERE organization = ? AND discarded = 0').length,
    freshness: all<Freshness>('SELECT * FROM freshness WHERE organization = ?')[0],
  }
}

/** A quick run, with the known facts about the list it looked at. Honest: the service made no mistake. */
type WatchedQuickRun = Omit<Watched, 'isHidden' | 'newerThan'> & { kept: Kept; keptNow: Kept }

type Kept = ReturnType<typeof readKept>

export function readKept(db: Reader, organization: string) {
  const kept = [
    'SELECT run_id, reader, facts, list_columns.* FROM lists JOIN list_columns USING (organization) WHERE organization = ?',
    'SELECT windows.* FROM windows JOIN runs ON runs.id = run_id WHERE organization = ?',
    `SELECT id, status, proof, reasons FROM runs
     WHERE organization = ? AND trusted_pages IS NULL AND status NOT IN ('running', 'interrupted')`,
  ].map((sql) => JSON.stringify(db.all(sql, organization)))
  type Absence = { row_id: number; proven: number; scans: number }
  const rows = 'SELECT row_id, proven, scans FROM absences WHERE organization = ?'
  const absences = db.all<Absence>(rows, organization)
  return { kept: kept.join('\n'), absences: new Map(absences.map((row) => [row.row_id, row])) }
}

export function untruthsOfQuickRun(watched: WatchedQuickRun): string[] {
  return [...untrueCounts(watched), ...brokenPromises(watched), ...untrueCustomers(watched)]
}

function untrueCounts({ outcome, before, after }: WatchedQuickRun): string[] {
  const { report, error } = outcome
  return unequalNumbers({ outcome, before, after }, [
    ['proof', report.proof, 'unproven'],
    ['removed', report.removed, 0],
    ['complete', report.status === 'complete', false],
    ['a defect', report.error?.code === 'unexpected', false],
    ['partial, and without an error', report.status === 'partial', error === undefined],
    ['newly missing', newlyMissing(before, after).length, report.missing],
    ['pages trusted', Number.isInteger(report.trustedPages) && (report.trustedPages ?? -1) >= 0, true],
  ])
}

function brokenPromises({ before, after, kept, keptNow }: WatchedQuickRun): string[] {
  const untruths = unequal([
    ['lists, windows or nights', kept.kept, keptNow.kept],
    ['read_as_of', before.freshness?.read_as_of, after.freshness?.read_as_of],
    ['proven_as_of', before.freshness?.proven_as_of, after.freshness?.proven_as_of],
  ])
  for (const row of after.customers.values()) {
    const was = before.customers.get(row.id)
    if (row.removed_at !== null && was?.removed_at !== row.removed_at) untruths.push(`${row.id} was removed`)
    const absences = keptNow.absences.get(row.row_id)
    const earlier = was?.missing_since == null ? undefined : kept.absences.get(row.row_id)
    if (row.missing_since === null || row.removed_at !== null) continue
    if (absences?.proven !== (earlier?.proven ?? 0) || absences.scans !== (earlier?.scans ?? 0))
      untruths.push(`absences of ${row.id}: ${JSON.stringify({ earlier, absences })}`)
  }
  for (const { row_id, id } of before.customers.values())
    if (before.held.has(row_id) && !after.held.has(row_id) && after.customers.get(id)?.missing_since !== null)
      untruths.push(`the removal of ${id} is no longer held`)
  return untruths
}

function untrueCustomers({ list, before, after, isHonest, isStatic, startTick, endTick }: WatchedQuickRun): string[] {
  if (!isHonest) return []
  const untruths = newlyMissing(before, after).flatMap(({ id }) => {
    const person = isStatic ? list.find(id) : undefined
    const isListed = person !== undefined && wasListedThroughout(person, startTick, endTick)
    return isListed ? [`${person.n} is marked missing and is listed`] : []
  })
  for (const row of after.customers.values()) {
    const was = before.customers.get(row.id)
    const person = list.find(row.id)
    if (person === undefined) untruths.push(`${row.id} was never listed`)
    if (person === undefined || (was?.name === row.name && was.missing_since === row.missing_since)) continue
    if (row.missing_since !== null && was !== undefined) continue
    if (!overlap(person.spans, startTick, endTick)) untruths.push(`${person.n} was written and had left before`)
    const isTrue = namesBetween(person, startTick, endTick).includes(String(row.name))
    if (!isTrue && !overlap(person.odd, startTick, endTick)) untruths.push(`${person.n} has old values`)
  }
  return untruths
}

function newlyMissing(before: Stored, after: Stored) {
  const missing = [...after.customers.values()].filter(({ missing_since }) => missing_since !== null)
  return missing.filter(({ id }) => before.customers.get(id)?.missing_since === null)
}

/** What a night that was resumed says wrongly of customers that a quick run wrote after the scan began. */
export function untrueAfterQuickRuns(
  { list, before, after, startTick, endTick }: Pick<Watched, 'list' | 'before' | 'after' | keyof Ticks>,
  resumedFrom: number | undefined,
): string[] {
  const began = (id = Infinity): number => {
    const from = after.runs.find((run) => run.id === id)?.resumed_from ?? id
    return from === id ? id : began(from)
  }
  const quick = new Set(
    after.runs.filter(({ id, trusted_pages }) => id > began(resumedFrom) && trusted_pages !== null).map(({ id }) => id),
  )
  return newlyMissing(before, after).flatMap(({ id }) => {
    const person = list.find(id)
    const wasWritten = quick.has(before.customers.get(id)?.last_run_id ?? 0)
    if (!wasWritten || person === undefined || !wasListedThroughout(person, startTick, endTick)) return []
    return [`${person.n} is listed, was written by a quick run meanwhile, and is marked missing`]
  })
}
