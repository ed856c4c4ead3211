import { expect, test } from 'vitest'
import type { Run } from '../../../src/model/run.ts'
import type { Mirror } from '../../../src/model/mirror.ts'
import type { Customer } from '../../../src/model/customer.ts'
import { decidePages, type Known, type PagesDecided } from '../../../src/store/pages/decide-pages.ts'
import { sqlTime } from '../../../src/store/port/sql.ts'
import { sortRecords } from '../../../src/sync/sorting/sort-records.ts'
import type { SortedPage } from '../../../src/model/page.ts'
import { aCustomer, anEnding, customerId, MINUTE_MS, START_MS } from '../../support/builders.ts'
import { dice, type Dice } from '../../support/dice.ts'
import { recordByRecord } from '../../support/record-by-record.ts'
import { aMirror, type Row, tamper, withReader } from '../../support/mirror-file.ts'
import { seeds } from '../../support/seeds.ts'

const IDS = 8
const FORGOTTEN = 9

test('what is decided about random pages is what the rules say record by record, and what the mirror holds afterwards', async () => {
  const seen = { returned: 0, rejected: 0, duplicates: 0, released: 0, conflicts: 0, merged: 0 }
  for (let seed = 1; seed <= seeds(200, { every: 80, least: 3 }); seed += 1) {
    const chance = dice(seed)
    const mirror = await aMirror()
    for (let night = 0; night < 4; night += 1) {
      const nowMs = START_MS + night * MINUTE_MS
      disturb(mirror, chance)
      const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs, isQuick: chance.chance(0.2) })
      for (let transaction = 0; transaction < 2; transaction += 1) {
        const decided = await saveAndCompare(mirror, run, randomPages(chance, run), nowMs, `seed ${seed}`)
        const { records, warnings } = decided.saved
        seen.returned += records.returned
        seen.rejected += records.rejected
        seen.duplicates += records.duplicates
        seen.released += decided.released.size
        seen.conflicts += warnings.conflicting_duplicate ?? 0
        seen.merged += [...decided.updated.keys()].filter((rowId) => decided.edited.has(rowId)).length
      }
      await mirror.finishRun(run, anEnding(run.isQuick ? { status: 'partial' } : {}), nowMs)
    }
    await mirror.close()
  }
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0)
})

async function saveAndCompare(mirror: Mirror, run: Run, pages: SortedPage[], nowMs: number, seed: string) {
  const before = stateOf(mirror)
  const lastRowId = Math.max(0, ...before.customers.map(({ row_id }) => Number(row_id)))
  const held = new Map(before.customers.map(asKnown))
  const expected = recordByRecord(run, pages, { held, lastRowId })
  const decided = decidePages(run, pages, { customers: held, lastRowId })

  expect(decided.saved.records, seed).toEqual(expected.records)
  expect(decided.changes, seed).toEqual(expected.changes)
  expect(
    [...expected.edited].filter((rowId) => !decided.edited.has(rowId)),
    seed,
  ).toEqual([])
  const saved = await mirror.savePages(run, pages, nowMs)

  expect(comparable(decided.saved), seed).toEqual(comparable(saved))
  const after = stateOf(mirror)
  expect(new Map(after.customers.map(asKnown)), seed).toEqual(expected.customers)
  const { updated_at: stamp } = after.stamp[0] ?? { updated_at: null }
  expect(after.customers, seed).toEqual(customersAfter(before.customers, decided, { run, nowMs, stamp }))
  expect(after.changes.slice(before.changes.length), seed).toEqual(
    decided.changes.map((change) => ({ ...change, run_id: run.id, organization: 'acme', at: sqlTime(nowMs) })),
  )
  expect(after.absences, seed).toEqual(before.absences.filter(({ row_id }) => !decided.present.has(Number(row_id))))
  expect(after.held, seed).toEqual(before.held.filter(({ row_id }) => !decided.released.has(Number(row_id))))
  expect(new Set(after.edited.map(({ row_id }) => row_id)), seed).toEqual(
    new Set([...before.edited.map(({ row_id }) => row_id), ...decided.edited]),
  )
  expect(
    after.rejects.filter(({ seen_at, run_id }) => run_id === run.id && seen_at === sqlTime(nowMs)),
    seed,
  ).toEqual(expect.arrayContaining([...decided.rejects.values()].map(asStoredReject)))
  return decided
}

function comparable(saved: PagesDecided['saved']) {
  const { pages, seen, written, ...same } = saved
  return {
    ...same,
    pages: pages.map(({ rowIds, unchanged }) => ({ rowIds: Array.from(rowIds), unchanged })),
    seen: [...seen],
    written: [...written],
  }
}

type Moment = { run: Run; nowMs: number; stamp: unknown }

function customersAfter(before: Row[], { inserted, updated }: PagesDecided, { run, nowMs, stamp }: Moment): Row[] {
  const now = sqlTime(nowMs)
  const changed = before.map((row) => {
    const update = updated.get(Number(row.row_id))
    if (update === undefined) return row
    return {
      ...row,
      ...update.customer,
      ...{ missing_since: null, removed_at: null, is_active: 1, updated_at: stamp },
      changed_at: update.isChanged ? now : row.changed_at,
      last_run_id: update.isOwn ? run.id : row.last_run_id,
    }
  })
  const added = inserted.map(({ rowId, customer }) => ({
    ...customer,
    ...{ row_id: rowId, organization: 'acme', last_run_id: run.id, first_seen_at: now, changed_at: now },
    ...{ updated_at: stamp, missing_since: null, removed_at: null, is_active: 1 },
  }))
  return [...changed, ...added]
}

function asStoredReject({
  recordId,
  key,
  page,
  position,
  payload,
  reasons,
}: SortedPage['rejects'][number] & { page: number }) {
  return expect.objectContaining({
    ...{ record_id: recordId, record_key: key, page, position, payload },
    reasons: JSON.stringify(reasons),
  })
}

function stateOf({ file }: Mirror) {
  return withReader(file, (reader) => {
    const all = (table: string, order: string, columns = '*') =>
      reader.all(`SELECT ${columns} FROM ${table} ORDER BY ${order}`)
    return {
      customers: all('customers', 'row_id'),
      changes: all('changes', 'seq', 'run_id, organization, id, "change", fields, at'),
      absences: all('absences', 'row_id'),
      held: all('held_removals', 'row_id'),
      edited: all('edited_customers', 'row_id'),
      rejects: all('rejects', 'reject_id'),
      stamp: all('last_update', 'id'),
    }
  })
}

function asKnown(row: Row): [string, Known] {
  const { id, name, username, email, phone, address, company_name, language, timezone, created_at } = row
  const { created_at_utc, extra } = row
  const columns = { id, name, username, email, phone, address, company_name, language, timezone, created_at }
  // The columns of a customer, as the mirror wrote them.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const customer = { ...columns, created_at_utc, extra } as Customer
  const isMissing = row.missing_since !== null
  return [customer.id, { rowId: Number(row.row_id), customer, isMissing, isRemoved: row.removed_at !== null }]
}

/** Some customers become missing, removed or held, as nights before this one would leave them. */
function disturb({ file }: Mirror, chance: Dice): void {
  if (chance.chance(0.3)) return
  const some = () => customerId(1 + chance.below(IDS))
  const at = sqlTime(START_MS - MINUTE_MS)
  tamper(file, 'UPDATE customers SET missing_since = ? WHERE id IN (?, ?)', at, some(), some())
  tamper(file, 'UPDATE customers SET missing_since = ?, removed_at = ? WHERE id IN (?, ?)', at, at, some(), some())
  const add = (table: string, columns: string, values: string) =>
    tamper(
      file,
      `INSERT INTO ${table} (${columns}) SELECT ${values} FROM customers WHERE id = ? ON CONFLICT DO NOTHING`,
      some(),
    )
  add('absences', 'organization, row_id, proven, scans, whole', 'organization, row_id, 1, 1, 1')
  add('held_removals', 'organization, row_id, run_id', 'organization, row_id, last_run_id')
}

function randomPages(chance: Dice, run: Run): SortedPage[] {
  return Array.from({ length: 1 + chance.below(3) }, (_, index) => {
    const records = Array.from({ length: chance.below(7) }, () => randomRecord(chance))
    const known = records.map(() => (chance.chance(0.1) ? (run.list.columns.rowIds[0] ?? 1) : 0))
    const sorted = sortRecords(records, {
      pageBytes: 0,
      forgotten: { numberOf: (id) => (id === customerId(FORGOTTEN) ? 1 : undefined) },
      // A row that exists from the first transaction on.
      ...(run.records.received > 0 && run.seen.size > 0 && { known: { rowIds: known, warningsAt: () => undefined } }),
    })
    const window = { page: index + 1, size: 10, perPage: 10, total: 99, lastPage: 9, beyondEnd: false }
    return { ...sorted, page: index + 1, received: records.length, ...(chance.chance(0.7) && { window }) }
  })
}

function randomRecord(chance: Dice): unknown {
  const n = 1 + chance.below(FORGOTTEN)
  return chance.pick([
    () => aCustomer(n),
    () => aCustomer(n),
    () => aCustomer(n, { name: chance.pick(['Ada', 'Bo']), vip: chance.pick([1, 2]) }),
    () => aCustomer(n, { email: {} }),
    () => ({ broken: chance.below(2) }),
  ])()
}
