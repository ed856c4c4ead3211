import { onTestFinished } from 'vitest'
import type { Proof, Report } from '../../src/model/report.ts'
import type { Ending, RemovalRule, Retention } from '../../src/model/run.ts'
import { openMirror, type Mirror, type Organizations } from '../../src/store/mirror.ts'
import { aCustomer, customerId, customers, START_MS, DAY_MS, HOUR_MS } from '../support/builders.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { aMirror, mirrorPages, rowsOf } from '../support/mirror-file.ts'
import { withPlayedLeasesOf } from '../support/postgres/played-leases.ts'

export type Night = {
  proof?: Proof
  /** Whether an unproven scan came to the end of the list all the same. */
  isWhole?: boolean
  rule?: RemovalRule
  /** Whose absence other means confirm. */
  confirmed?: Iterable<string>
  /** How the run ends, if the proof does not show it. */
  ending?: Partial<Ending>
  organization?: string
  isPartial?: boolean
}

/** One run of night `n` that received this list; proven by default. */
export async function night(mirror: Mirror, n: number, list: readonly unknown[], told: Night = {}): Promise<Report> {
  const { organization = 'acme', ending = {}, isPartial } = told
  const atMs = START_MS + n * DAY_MS
  return mirrorPages(mirror, [list], { organization, atMs, isPartial, ending: { ...scanEnding(told), ...ending } })
}

/** An open mirror that has read these lists of acme, one a night. */
export async function aMirrorOf(...lists: (readonly unknown[])[]): Promise<Mirror> {
  const mirror = await aMirror()
  for (const [n, list] of lists.entries()) await night(mirror, n, list)
  return mirror
}

/** Runs 3 and 4: acme lost fifty of its hundred customers at once, globex sixty. */
export async function fourNights(mirror: Mirror): Promise<void> {
  for (const organization of ['acme', 'globex']) await night(mirror, 0, customers(1, 100), { organization })
  await night(mirror, 1, customers(51, 100))
  await night(mirror, 1, customers(61, 100), { organization: 'globex' })
}

export function scanEnding({ proof = 'proven', isWhole, rule = USUAL_RULE, confirmed = [] }: Night): Ending {
  const reasons = { proven: [], settled: ['no-witness'], unproven: ['hole'] }[proof]
  const source = { requests: 1, throttled: 0, waitedMs: 0 }
  const removals = { rule, confirmed: new Set(confirmed) }
  return { status: 'complete', proof, isWhole, reasons, readToEnd: proof !== 'unproven', source, removals }
}

type Quickly = { gone?: readonly number[]; hour?: number; ending?: Partial<Ending> }

/** A quick run some hours after night `n`: it received these records, and found those customers absent. */
export async function quickRun(
  mirror: Mirror,
  n: number,
  records: readonly unknown[],
  { gone = [], hour = 12, ending = {} }: Quickly = {},
): Promise<Report> {
  const atMs = START_MS + n * DAY_MS + hour * HOUR_MS
  const removals = { rule: USUAL_RULE, confirmed: new Set<string>() }
  const found = { absentRows: rowIdsOf(mirror, gone), trustedPages: 12, removals }
  return mirrorPages(mirror, records.length > 0 ? [records] : [], {
    ...{ atMs, isPartial: true },
    ending: { status: 'partial', reasons: ['quick'], readToEnd: false, ...found, ...ending },
  })
}

function rowIdsOf(mirror: Mirror, numbers: readonly number[]): number[] {
  const ids = JSON.stringify(numbers.map(customerId))
  const sql = `SELECT row_id FROM customers WHERE organization = 'acme' AND id IN (SELECT value FROM json_each(?))`
  return rowsOf(mirror.file, sql, ids).map(({ row_id }) => Number(row_id))
}

const USUAL_RULE = { after: 2, maxShare: 0.1 }

export type Fate = 'listed' | 'missing' | 'removed'

export function fateOf(mirror: Mirror, n: number): Fate {
  return fatesOf(mirror, [n])[0] ?? 'removed'
}

export function fatesOf({ file }: Mirror, numbers: readonly number[]): Fate[] {
  const sql = `SELECT id, missing_since, removed_at FROM customers WHERE organization = 'acme'`
  const rows = new Map(rowsOf(file, sql).map((row) => [row['id'], row]))
  return numbers.map((n) => {
    const { missing_since, removed_at } = rows.get(customerId(n)) ?? {}
    if (removed_at !== null) return 'removed'
    return missing_since === null ? 'listed' : 'missing'
  })
}

export function fates(mirror: Mirror): Record<Fate, number> {
  const sql = `SELECT count(*) FILTER (WHERE missing_since IS NULL AND removed_at IS NULL) AS listed,
    count(*) FILTER (WHERE missing_since IS NOT NULL AND removed_at IS NULL) AS missing, count(removed_at) AS removed
    FROM customers WHERE organization = 'acme'`
  const [row = {}] = rowsOf(mirror.file, sql)
  return { listed: Number(row['listed']), missing: Number(row['missing']), removed: Number(row['removed']) }
}

/** Who went and who came back, in order: id, change, and the run it is put down to. */
export function changes(mirror: Mirror): unknown[][] {
  const sql = `SELECT id, change, run_id FROM changes WHERE change IN ('removed', 'returned') ORDER BY seq`
  return rowsOf(mirror.file, sql).map(({ id, change, run_id }) => [id, change, run_id])
}

const FOREVER = { changesMs: undefined, resolvedRejectsMs: undefined, runsMs: undefined, removedCustomersMs: undefined }

export function prune(mirror: Mirror, limits: Partial<Retention>, n: number, { isConfirmed = true } = {}) {
  return mirror.prune('acme', { ...FOREVER, ...limits }, { asOfMs: START_MS + n * DAY_MS, isConfirmed })
}

/** Four customers, of which the first has another name each night. */
export function nightsOfRenames(nights: number): Promise<Mirror> {
  const first = Array.from({ length: nights }, (_, n) => aCustomer(1, { name: `Name ${n}` }))
  return aMirrorOf(...first.map((renamed) => [renamed, ...customers(2, 4)]))
}

export function horizon(mirror: Mirror): Record<string, unknown> | undefined {
  return rowsOf(mirror.file, `SELECT * FROM horizons WHERE organization = 'acme'`)[0]
}

/** A moment after such nights. */
export const CLOCKS = { nowMs: START_MS + 9 * DAY_MS, monotonicMs: 1_000_000 }

/** The organizations of a mirror, open until the test ends. */
export async function organizationsOf(file: string): Promise<Organizations & Pick<Mirror, 'close'>> {
  const { organizations, close } = await openMirror(file)
  onTestFinished(close)
  return { ...(onPostgres ? withPlayedLeasesOf(organizations, file) : organizations), close }
}
