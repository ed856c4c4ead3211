import type { Mirror } from '../src/model/mirror.ts'
import { expect, test } from 'vitest'
import type { Mirroring } from '../src/sync/mirror-organization.ts'
import { addsUp, type Report } from '../src/model/report.ts'
import { DAY_MS, makeNight, type Night } from './support/alike-nights.ts'
import { aCustomer, customerId, START_MS, type SentRecord } from './support/builders.ts'
import { dice as diceOf, type Dice } from './support/dice.ts'
import { aMirror, rowsOf, withReader } from './support/mirror-file.ts'
import { seeds } from './support/seeds.ts'

const MOST_CUSTOMERS = 60

/** What each night lists, and whether it ends early. */
type Planned = Pick<Night, 'stopAfter' | 'failAfter'> & { list: SentRecord[]; scan: Mirroring['scan'] }

test('over random nights, a mirror that forgot customers is one of a service that never had them', async () => {
  for (let seed = 1; seed <= seeds(60, { least: 2, every: 30 }); seed += 1) {
    const dice = diceOf(seed)
    const told = { removals: { after: 1 + dice.below(2), maxShare: 1 }, concurrency: 1 + dice.below(3) }
    const doomed = new Map(pickSome(dice).map((n) => [customerId(n), dice.below(6)]))
    const [forgetting, without] = [await aMirror(), await aMirror()]
    for (const [index, night] of calmNights(dice).entries()) {
      const gone = await forgetDue(forgetting, doomed, index)
      const one = await play(forgetting, index, night, told)
      const other = await play(without, index, { ...night, list: night.list.filter(isNot(doomed)) }, told)
      const context = { seed, index }
      // Two services have two totals, one of which may look like a limit: then one of the scans proves less.
      if ([one, other].some(({ reasons }) => reasons.includes('capped-total'))) break

      expect({ ...context, proof: one.proof, status: one.status }).toEqual({
        ...context,
        proof: other.proof,
        status: 'complete',
      })
      expect({ ...context, suppressed: one.suppressed }).toEqual({
        ...context,
        suppressed: night.list.filter(({ id }) => gone.has(idOf(id))).length,
      })
      expect({ ...context, rows: contents(forgetting, doomed) }).toEqual({
        ...context,
        rows: contents(without, doomed),
      })
      expect({ ...context, traces: tracesOf(forgetting, gone) }).toEqual({ ...context, traces: [] })
    }
  }
})

test('over random nights that are stopped, fail and are resumed, forgotten customers stay out, and the others come in', async () => {
  let resumed = 0
  for (let seed = 1; seed <= seeds(60); seed += 1) {
    const dice = diceOf(1000 + seed)
    const told = { removals: { after: 1 + dice.below(2), maxShare: 1 }, concurrency: 1 + dice.below(3) }
    const doomed = new Map(pickSome(dice).map((n) => [customerId(n), dice.below(6)]))
    const mirror = await aMirror()
    const nights = roughNights(dice)
    let gone: ReadonlySet<string> = new Set()
    for (const [index, night] of nights.entries()) {
      gone = await forgetDue(mirror, doomed, index)
      const report = await play(mirror, index, night, told)
      if (report.resumedFrom !== undefined && report.status === 'complete') resumed += 1

      expect({ seed, index, traces: tracesOf(mirror, gone) }).toEqual({ seed, index, traces: [] })
      expect({ seed, index, addsUp: addsUp(report) }).toEqual({ seed, index, addsUp: true })
      const all = report.received - report.duplicates + report.readBefore
      // A run that continues another one may have read customers that have left the list since.
      if (report.status === 'complete' && report.resumedFrom === undefined)
        expect({ seed, index, all }).toEqual({ seed, index, all: night.list.length })
    }
    const listed = nights.at(-1)?.list.map(({ id }) => idOf(id)) ?? []
    const active = rowsOf(mirror.file, 'SELECT id FROM active_customers ORDER BY id').map(({ id }) => id)
    expect({ seed, active }).toEqual({ seed, active: listed.filter((id) => !gone.has(id)).toSorted() })
  }
  expect(resumed).toBeGreaterThan(0)
})

async function play(mirror: Mirror, index: number, night: Planned, told: Partial<Mirroring>): Promise<Report> {
  const { report } = await makeNight(mirror, index, { ...night, told: { ...told, scan: night.scan, pageSize: 10 } })
  return report
}

/** Forgets the customers whose night has come, as soon as the mirror holds them. Returns all that are forgotten. */
async function forgetDue(mirror: Mirror, doomed: ReadonlyMap<string, number>, index: number): Promise<Set<string>> {
  const gone = new Set<string>()
  const nowMs = START_MS + index * DAY_MS - DAY_MS / 2
  for (const [id, due] of doomed) {
    if (due > index) continue
    const asked = { organization: 'acme', id, nowMs, monotonicMs: undefined }
    const forgotten = await mirror.forgetCustomer(asked).catch(() => undefined)
    if (forgotten !== undefined) gone.add(id)
  }
  return gone
}

/** Nights that all end, of a list that is edited between them. */
function calmNights(dice: Dice): Planned[] {
  let numbers = someNumbers(dice)
  return Array.from({ length: 4 + dice.below(5) }, () => {
    numbers = edited(numbers, dice)
    return { list: listOf(numbers, dice), scan: 'chain' }
  })
}

/** Nights that may end early, and the last three of which do not. */
function roughNights(dice: Dice): Planned[] {
  const nights: Planned[] = calmNights(dice).map((night) => {
    const after = 1 + dice.below(4)
    const early = dice.chance(0.4) ? { stopAfter: after } : dice.chance(0.3) ? { failAfter: after } : {}
    return { ...night, ...early }
  })
  const list = nights.at(-1)?.list.map((record) => ({ ...record, name: 'The End', email: null })) ?? []
  return [...nights, ...Array.from({ length: 3 }, (): Planned => ({ list, scan: 'chain' }))]
}

function someNumbers(dice: Dice): number[] {
  return Array.from({ length: MOST_CUSTOMERS }, (_, index) => index + 1).filter(() => dice.chance(0.6))
}

function edited(numbers: readonly number[], dice: Dice): number[] {
  if (dice.chance(0.3)) return [...numbers]
  const left = numbers.filter(() => dice.chance(0.92))
  const came = someNumbers(dice).filter((n) => dice.chance(0.1) && !left.includes(n))
  return [...left, ...came].toSorted((one, other) => one - other)
}

/** The newest customer first, who is always there: a list that lacks its newest customers may be an older one. */
function listOf(numbers: readonly number[], dice: Dice): SentRecord[] {
  return [0, ...numbers].map((n) => {
    const created = { created_at: new Date(START_MS - n * DAY_MS).toISOString() }
    const record = aCustomer(n, { ...created, name: `Name ${n} of ${dice.below(5) === 0 ? dice.below(3) : 'all'}` })
    if (n === 0 || dice.chance(0.95)) return record
    return dice.chance(0.5) ? { ...record, email: [] } : { ...record, id: idOf(record['id']).toUpperCase(), odd: true }
  })
}

function pickSome(dice: Dice): number[] {
  return someNumbers(dice).filter(() => dice.chance(0.15))
}

function isNot(doomed: ReadonlyMap<string, number>) {
  return ({ id }: SentRecord) => !doomed.has(idOf(id))
}

function idOf(id: unknown): string {
  return String(id).toLowerCase()
}

/** What the mirror holds of the customers that are never forgotten, without what depends on pages and on the order of writing. */
function contents({ file }: Mirror, doomed: ReadonlyMap<string, number>) {
  const others = (sql: string) => rowsOf(file, sql).filter((row) => !doomed.has(idOf(row['id'] ?? row['record_id'])))
  return {
    customers: others(
      `SELECT id, name, username, email, phone, extra, created_at_utc, first_seen_at, changed_at, missing_since, removed_at,
         last_run_id, is_active FROM customers ORDER BY id`,
    ),
    absences: others('SELECT id, proven, scans FROM absences JOIN customers USING (row_id) ORDER BY id'),
    changes: others('SELECT run_id, id, change, fields, changed_at, missing_since FROM changes ORDER BY run_id, id'),
    rejects: others(
      'SELECT run_id, record_id, payload, reasons, first_seen_at, seen_at, resolved_at FROM rejects ORDER BY record_id, seen_at',
    ),
    freshness: rowsOf(file, 'SELECT read_as_of, proven_as_of, proof FROM freshness'),
  }
}

/** The tables that hold the id of a forgotten customer. */
function tracesOf({ file }: Mirror, gone: ReadonlySet<string>): string[] {
  return withReader(file, (db) => {
    const tables = db
      .all<{ name: string }>(`SELECT name FROM sqlite_schema WHERE type = 'table'`)
      .map(({ name }) => name)
    return tables.filter((table) => {
      const values = db.all(`SELECT * FROM "${table}"`).flatMap((row) => Object.values(row))
      const text = values.join(' ').toLowerCase()
      return [...gone].some((id) => text.includes(id) || text.includes(`customer-${Number.parseInt(id, 16)}@`))
    })
  })
}
