import type { Reader } from './mirror-reader.ts'
import type { Outcome } from '../../src/sync/mirror-organization.ts'
import { addsUp } from '../../src/model/report.ts'
import { type KnownList, namesBetween, wasListedEver, wasListedThroughout, wasOddBetween } from './known-list.ts'
import type { Stored, Watched } from './untruths.ts'

/** A quick run, with the known facts about the list it looked at. */
export type WatchedQuickRun = {
  outcome: Outcome
  list: KnownList
  startTick: number
  endTick: number
  /** The service made no mistake. */
  isHonest: boolean
  /** The list did not change meanwhile. */
  isStatic: boolean
  isKilled: boolean
  maxRequests: number
  /** Requests that the service received. */
  sent: number
  pageSize: number
  before: Stored
  after: Stored
  kept: Kept
  keptNow: Kept
}

/** What a quick run must leave as it was. */
type Kept = ReturnType<typeof readKept>

export function readKept(db: Reader, organization: string) {
  const all = (sql: string) => JSON.stringify(db.all(sql, organization))
  const kept = {
    lists: all('SELECT run_id, reader, hex(row_ids), hex(marks), facts FROM lists WHERE organization = ?'),
    windows: all('SELECT windows.* FROM windows JOIN runs ON runs.id = run_id WHERE organization = ?'),
    nights: all(
      `SELECT id, status, proof, reasons FROM runs
       WHERE organization = ? AND trusted_pages IS NULL AND status NOT IN ('running', 'interrupted')`,
    ),
  }
  const absences = db.all<{ row_id: number; proven: number; scans: number }>(
    'SELECT row_id, proven, scans FROM absences WHERE organization = ?',
    organization,
  )
  return { kept, absences: new Map(absences.map((row) => [row.row_id, row])) }
}

/** Every wrong statement of a quick run, in its report and in the mirror. */
export function untruthsOfQuickRun(watched: WatchedQuickRun): string[] {
  return [...untrueCounts(watched), ...brokenPromises(watched), ...untrueCustomers(watched)]
}

function untrueCounts({ outcome: { report, error }, isKilled, before, after, ...watched }: WatchedQuickRun): string[] {
  const untruths: string[] = []
  const stored = after.runs.find(({ id }) => id === report.runId)
  const inserted = after.customers.size - before.customers.size
  if (!addsUp(report)) untruths.push('the identity does not hold')
  if (report.proof !== 'unproven') untruths.push(`proof ${report.proof}`)
  if (report.removed !== 0) untruths.push('removed')
  if (!isKilled && report.error?.code === 'unexpected') untruths.push(`a defect: ${report.error.message}`)
  if (!isKilled && (report.status === 'partial') !== (error === undefined))
    untruths.push(`${report.status}, ${String(error)}`)
  if (report.status === 'complete') untruths.push('complete')
  if (report.requests > watched.maxRequests || watched.sent > watched.maxRequests)
    untruths.push(`${report.requests} requests, ${watched.sent} received, of ${watched.maxRequests}`)
  if (isKilled) return untruths
  if (inserted !== report.inserted) untruths.push(`${inserted} inserted, reported ${report.inserted}`)
  for (const name of ['status', 'requests', 'pages', 'received', 'inserted', 'updated', 'missing', 'held'] as const)
    if (stored?.[name] !== report[name]) untruths.push(`${name}: stored ${String(stored?.[name])}, ${report[name]}`)
  const marked = newlyMissing(before, after).length
  if (marked !== report.missing) untruths.push(`${marked} missing, reported ${report.missing}`)
  const trusted = report.trustedPages ?? -1
  if (trusted < 0 || !Number.isInteger(trusted)) untruths.push(`${trusted} pages trusted`)
  return untruths
}

function brokenPromises({ before, after, kept, keptNow }: WatchedQuickRun): string[] {
  const untruths: string[] = []
  for (const [name, value] of Object.entries(kept.kept))
    if (Object.entries(keptNow.kept).find(([other]) => other === name)?.[1] !== value) untruths.push(`${name} changed`)
  const dates = ['read_as_of', 'proven_as_of'] as const
  for (const date of dates)
    if (before.freshness?.[date] !== after.freshness?.[date])
      untruths.push(`${date} was ${before.freshness?.[date]}, is ${after.freshness?.[date]}`)
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
  const untruths: string[] = []
  if (!isHonest) return untruths
  if (isStatic) {
    for (const { id } of newlyMissing(before, after)) {
      const person = list.find(id)
      if (person !== undefined && wasListedThroughout(person, startTick, endTick))
        untruths.push(`${person.n} is marked missing and is listed`)
    }
  }
  for (const row of after.customers.values()) {
    const was = before.customers.get(row.id)
    const person = list.find(row.id)
    if (person === undefined) untruths.push(`${row.id} was never listed`)
    if (person === undefined || (was?.name === row.name && was.missing_since === row.missing_since)) continue
    if (row.missing_since !== null && was !== undefined) continue
    if (!wasListedEver(person, startTick, endTick)) untruths.push(`${person.n} was written and had left before`)
    const isTrue = namesBetween(person, startTick, endTick).includes(String(row.name))
    if (!isTrue && !wasOddBetween(person, startTick, endTick)) untruths.push(`${person.n} has old values`)
  }
  return untruths
}

function newlyMissing(before: Stored, after: Stored) {
  return [...after.customers.values()].filter(
    ({ id, missing_since }) => missing_since !== null && before.customers.get(id)?.missing_since === null,
  )
}

/** What a night says wrongly of customers that a quick run wrote after its scan began: `since` is the run that began it. */
export function untrueAfterQuickRuns({
  list,
  before,
  after,
  startTick,
  endTick,
  since,
}: Pick<Watched, 'list' | 'before' | 'after' | 'startTick' | 'endTick'> & { since: number | undefined }): string[] {
  if (since === undefined) return []
  const quick = new Set(
    after.runs.filter(({ id, trusted_pages }) => id > since && trusted_pages !== null).map(({ id }) => id),
  )
  return newlyMissing(before, after).flatMap(({ id }) => {
    const person = list.find(id)
    const wasWritten = quick.has(before.customers.get(id)?.last_run_id ?? 0)
    if (!wasWritten || person === undefined || !wasListedThroughout(person, startTick, endTick)) return []
    return [`${person.n} is listed, was written by a quick run meanwhile, and is marked missing`]
  })
}
