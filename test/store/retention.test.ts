import { expect, test } from 'vitest'
import type { Mirror } from '../../src/store/mirror.ts'
import { aMirrorOf, horizon, night, nightsOfRenames, prune } from './nights.ts'
import { aCustomer, customerId, customers, START_MS, DAY_MS } from '../support/builders.ts'
import { aMirror, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
import { storedText } from '../support/mirror-reader.ts'

const RULE = { after: 2, maxShare: 1 }

test('changes older than they are kept are deleted from the beginning of the feed on, and no number is given out again', async () => {
  const mirror = await nightsOfRenames(10)
  const last = Number(valueOf(mirror.file, 'SELECT max(seq) FROM changes'))
  const pruned = await prune(mirror, { changesMs: 4 * DAY_MS }, 10)
  const left = rowsOf(mirror.file, 'SELECT seq, changed_at AS at FROM changes ORDER BY seq')
  await night(mirror, 11, customers(1, 4))

  expect(pruned).toMatchObject({ changes: 5, isUnfinished: false, error: undefined })
  const days = ['2026-01-11', '2026-01-12', '2026-01-13', '2026-01-14']
  expect(left.map(({ at }) => String(at).slice(0, 10))).toEqual(days.slice(0, left.length))
  expect(left.at(-1)?.['seq']).toBe(last)
  expect(horizon(mirror)).toMatchObject({ pruned_seq: 5, feed_seq: 5, history_from: '2026-01-11 00:00:00.000' })
  const opened = 'SELECT opened_by, min(valid_from) AS since FROM customers_history GROUP BY 1 ORDER BY 1'
  expect(rowsOf(mirror.file, opened)).toEqual([
    { opened_by: 'changed', since: '2026-01-11 02:00:00.000' },
    { opened_by: 'kept', since: '2026-01-11 00:00:00.000' },
  ])
  expect(Number(valueOf(mirror.file, 'SELECT max(seq) FROM changes'))).toBeGreaterThan(last)
})

test('a customer who was deleted and comes back begins anew, and the life before is not shown with values of today', async () => {
  const mirror = await aMirrorOf(customers(1, 3), [...customers(1, 2), aCustomer(3, { name: 'Earlier' })])
  for (const n of [2, 3]) await night(mirror, n, customers(1, 2), { rule: RULE })
  await prune(mirror, { removedCustomersMs: 2 * DAY_MS }, 10)
  const report = await night(mirror, 11, [...customers(1, 2), aCustomer(3, { name: 'Again' })])
  await night(mirror, 12, [...customers(1, 2), aCustomer(3, { name: 'Now' })])
  const history = `SELECT name, opened_by, closed_by FROM customers_history WHERE id = ? ORDER BY valid_from`

  expect(report).toMatchObject({ inserted: 1, returned: 0 })
  expect(rowsOf(mirror.file, history, customerId(3))).toEqual([
    { name: 'Again', opened_by: 'added', closed_by: 'changed' },
    { name: 'Now', opened_by: 'changed', closed_by: null },
  ])
})

test('removed customers are deleted with the values in their changes and rejects; the feed and the daily counts keep that they left', async () => {
  const emails = ['secret-one@example.com', 'secret-two@example.com', ['secret-three@example.com']]
  const mirror = await aMirrorOf(...emails.map((email) => [...customers(1, 2), aCustomer(3, { email })]))
  for (const n of [3, 4]) await night(mirror, n, customers(1, 2), { rule: RULE })
  const daily = rowsOf(mirror.file, 'SELECT * FROM customers_daily ORDER BY day')
  const feed = rowsOf(mirror.file, 'SELECT seq, id, change FROM changes ORDER BY seq')
  const tooEarly = await prune(mirror, { removedCustomersMs: 30 * DAY_MS }, 20)
  const pruned = await prune(mirror, { removedCustomersMs: 10 * DAY_MS }, 20)

  expect([tooEarly.removedCustomers, pruned.removedCustomers]).toEqual([0, 1])
  expect(valueOf(mirror.file, 'SELECT count(*) FROM customers')).toBe(2)
  expect(valueOf(mirror.file, 'SELECT count(*) FROM rejects')).toBe(0)
  expect(rowsOf(mirror.file, 'SELECT seq, id, change FROM changes ORDER BY seq')).toEqual(feed)
  expect(rowsOf(mirror.file, 'SELECT * FROM customers_daily ORDER BY day').slice(0, daily.length)).toEqual(daily)
  const from = '2026-01-15 02:00:00.000'
  expect(horizon(mirror)).toMatchObject({ pruned_seq: 0, history_from: null, customers_from: from })
  expect(storedText(mirror.file)).not.toMatch(/secret-(one|two|three)/)
})

test('resolved rejects are deleted by their age, open ones never', async () => {
  const open = aCustomer(3, { email: [] })
  const later = [...customers(1, 2), open]
  const mirror = await aMirrorOf([aCustomer(1), aCustomer(2, { email: [] }), open], later, later)
  const tooEarly = await prune(mirror, { resolvedRejectsMs: 90 * DAY_MS }, 20)
  const pruned = await prune(mirror, { resolvedRejectsMs: 10 * DAY_MS }, 20)

  expect([tooEarly.resolvedRejects, pruned.resolvedRejects]).toEqual([0, 1])
  expect(rowsOf(mirror.file, 'SELECT record_id FROM rejects')).toEqual([{ record_id: customerId(3) }])
})

test('runs that no row refers to are deleted; those that freshness, history and counts rest on stay', async () => {
  const mirror = await nightsThatComeAndGo(6)
  for (let n = 7; n < 30; n += 1) await night(mirror, n, customers(1, 5), n > 20 ? { proof: 'unproven' } : {})
  const tables = ['freshness', 'customers_history', 'customers_daily']
  const columns = (table: string) => rowsOf(mirror.file, `SELECT * FROM ${table} ORDER BY 1, 2`).map(withoutAges)
  const bounds = `SELECT concat(valid_from_after) AS valid_from_after, concat(valid_to_after) AS valid_to_after
    FROM customers_history ORDER BY organization, id, valid_from`
  const boundsBefore = rowsOf(mirror.file, bounds)
  const before = tables.map(columns)
  const { runs } = await prune(mirror, { runsMs: 5 * DAY_MS }, 30)

  expect(runs).toBeGreaterThan(10)
  expect(tables.map(columns)).toEqual(before)
  // What the service did is known to be after an earlier scan at least.
  for (const [index, row] of rowsOf(mirror.file, bounds).entries())
    for (const name of ['valid_from_after', 'valid_to_after'])
      expect(asText(row[name]) <= asText(boundsBefore[index]?.[name])).toBe(true)
  expect(valueOf(mirror.file, 'SELECT min(id) FROM runs')).toBe(1)
  expect(rowsOf(mirror.file, 'PRAGMA foreign_key_check')).toEqual([])
  expect(valueOf(mirror.file, `SELECT count(*) FROM runs WHERE started_at >= '2026-01-30'`)).toBe(5)
  expect(await night(mirror, 31, customers(1, 5))).toMatchObject({ status: 'complete', unchanged: 5 })
})

test.each([1, 6])('a clock far ahead deletes nothing of the last year, also in %d nights after', async (nights) => {
  const mirror = await nightsOfRenames(12)
  for (let n = 0; n < nights; n += 1) await night(mirror, 3650 + n, customers(1, 4))
  const all = { changesMs: 60 * DAY_MS, resolvedRejectsMs: 60 * DAY_MS }
  const others = { runsMs: 60 * DAY_MS, removedCustomersMs: 60 * DAY_MS }
  const pruned = await prune(mirror, { ...all, ...others }, 3650 + nights, { isConfirmed: false })

  expect(pruned).toMatchObject({ changes: 0, resolvedRejects: 0, runs: 0, removedCustomers: 0 })
})

test('a first pruning of more than one run may delete goes on after the next', async () => {
  const mirror = await aMirrorOf(customers(1, 2))
  tamper(
    mirror.file,
    `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 101000)
    INSERT INTO rejects (run_id, organization, record_key, page, position, payload, reasons, first_seen_at, seen_at, resolved_at)
    SELECT 1, 'acme', 'x', 1, 0, '', '[]', started_at, started_at, started_at FROM n JOIN runs ON runs.id = 1`,
  )
  const first = await prune(mirror, { resolvedRejectsMs: DAY_MS }, 10)
  const second = await prune(mirror, { resolvedRejectsMs: DAY_MS }, 11)

  expect(first).toMatchObject({ resolvedRejects: 100_000, isUnfinished: true })
  expect(second).toMatchObject({ resolvedRejects: 1000, isUnfinished: false })
})

function asText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Lists on which customers appear, are gone for three nights, and return. */
async function nightsThatComeAndGo(nights: number): Promise<Mirror> {
  const mirror = await aMirror()
  for (let n = 0; n < nights; n += 1) {
    const list = customers(1, 5 + n).filter((_, index) => index < 2 || (index + n) % 6 > 2)
    await night(mirror, n, list, { rule: RULE })
  }
  return mirror
}

/** Without what goes on while the test runs, and what may become less exact. */
function withoutAges(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !/age_seconds$|_after$/.test(name)))
}

test('changes are listed a page at a time, with the customer of now, and none of another organization', async () => {
  const mirror = await nightsOfRenames(4)
  const asked = { organization: 'acme', since: { ms: START_MS + 2 * DAY_MS }, afterSeq: 0, limit: 1 }
  const [first] = await mirror.listChanges({ ...asked, since: { run: 2 } })

  expect(first).toMatchObject({ runId: 3, change: 'changed', id: customerId(1), name: 'Name 3' })
  expect(await mirror.listChanges({ ...asked, afterSeq: first?.seq ?? 0 })).toMatchObject([{ runId: 4 }])
  expect(await mirror.listChanges({ ...asked, organization: 'globex' })).toEqual([])
})
