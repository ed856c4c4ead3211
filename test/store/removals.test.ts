import { expect, test } from 'vitest'
import type { Ending } from '../../src/model/run.ts'
import { aCustomer, aPage, customerId, customers, START_MS } from '../support/builders.ts'
import { aMirror, mirrorPages, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
import { changes, customerRow, DAY_MS, fateOf, night, scanEnding } from './nights.ts'

const ALL_FIVE = customers(1, 5)
const WITHOUT_2 = ALL_FIVE.filter(({ id }) => id !== customerId(2))

test('a customer absent from one proven scan is missing since then, and nothing else about it changes', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, ALL_FIVE)
  const before = customerRow(mirror, 2)

  const report = await night(mirror, 2, WITHOUT_2)

  expect(report).toMatchObject({ status: 'complete', proof: 'proven', missing: 1, removed: 0, held: 0 })
  expect(customerRow(mirror, 2)).toMatchObject({ ...shown(before), missing_since: '2026-01-07 02:00:00.000' })
  expect(changes(mirror)).toEqual([])
  expect(await mirror.listFreshness()).toMatchObject([{ active: 5, missing: 1, removed: 0 }])
})

test.each([1, 2, 3])(
  'a customer absent from %d proven scans in a row is removed by the last of them',
  async (after) => {
    const mirror = await aMirror()
    const rule = { after, maxShare: 0.1 }
    await night(mirror, 1, ALL_FIVE)
    const before = customerRow(mirror, 2)

    for (let absent = 1; absent < after; absent += 1) {
      expect(await night(mirror, 1 + absent, WITHOUT_2, { rule })).toMatchObject({ missing: 1, removed: 0 })
      expect(fateOf(mirror, 2)).toBe('missing')
    }
    const last = await night(mirror, 1 + after, WITHOUT_2, { rule })

    expect(last).toMatchObject({ missing: 0, removed: 1, held: 0 })
    const { missing_since, removed_at, ...values } = customerRow(mirror, 2)
    expect(values).toEqual(shown(before))
    expect(missing_since).toBe('2026-01-07 02:00:00.000')
    expect(removed_at).toBe(`2026-01-0${6 + after} 02:00:00.000`)
    const told = 'SELECT last_run_id, changes.missing_since FROM customers JOIN changes USING (organization, id)'
    expect(rowsOf(mirror.file, told)).toEqual([{ last_run_id: last.runId, missing_since }])
    expect(changes(mirror)).toEqual([[customerId(2), 'removed', last.runId]])
    expect(valueOf(mirror.file, 'SELECT count(*) FROM active_customers')).toBe(4)
  },
)

test('the run remembers how many it found missing and how many it removed', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, ALL_FIVE)
  await night(mirror, 2, WITHOUT_2)

  const told = await night(mirror, 3, customers(3, 5))

  expect(told).toMatchObject({ missing: 1, removed: 1 })
  expect(await mirror.listRuns({ limit: 1 })).toEqual([told])
})

test('a customer that was missing and is seen again is listed as before, and starts from nothing when it goes again', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, ALL_FIVE)
  await night(mirror, 2, WITHOUT_2)

  const report = await night(mirror, 3, ALL_FIVE)

  expect(report).toMatchObject({ updated: 1, returned: 0, missing: 0 })
  expect(fateOf(mirror, 2)).toBe('listed')
  expect(changes(mirror)).toEqual([])
  expect(await night(mirror, 4, WITHOUT_2)).toMatchObject({ missing: 1, removed: 0 })
})

test('a removed customer that is seen again has returned, with what changed about it meanwhile', async () => {
  const mirror = await aMirror()
  for (const [index, list] of [ALL_FIVE, WITHOUT_2, WITHOUT_2].entries()) await night(mirror, index + 1, list)

  const back = [...WITHOUT_2, aCustomer(2, { name: 'Back Again' })]
  const report = await night(mirror, 4, back)

  expect(report).toMatchObject({ updated: 1, returned: 1, inserted: 0 })
  expect(customerRow(mirror, 2)).toMatchObject({ name: 'Back Again', missing_since: null, removed_at: null })
  expect(changes(mirror).map(([, change]) => change)).toEqual(['removed', 'returned'])
  expect(valueOf(mirror.file, `SELECT fields FROM changes WHERE change = 'returned'`)).toBe(
    JSON.stringify({ name: ['Customer 2', 'Back Again'] }),
  )
  expect(await night(mirror, 5, WITHOUT_2)).toMatchObject({ missing: 1, removed: 0 })
})

test.each<[string, Partial<Ending>]>([
  ['an unproven scan', { proof: 'unproven', reasons: ['hole'], readToEnd: false }],
  ['a plain scan', { proof: 'unproven', reasons: ['plain-scan'], readToEnd: true }],
  ['a trial', { proof: 'unproven', reasons: ['page-limit'], readToEnd: false }],
  ['a run that failed', { status: 'failed', proof: 'unproven', reasons: ['failed'], readToEnd: false }],
  ['a run that was stopped', { status: 'interrupted', proof: 'unproven', reasons: ['interrupted'], readToEnd: false }],
])('%s marks no customer as missing or removed, and neither counts nor restarts the count', async (_, ending) => {
  const mirror = await aMirror()
  await night(mirror, 1, ALL_FIVE)
  for (const n of [2, 3, 4]) {
    expect(await night(mirror, n, WITHOUT_2, { ending })).toMatchObject({ missing: 0, removed: 0, held: 0 })
    expect(fateOf(mirror, 2)).toBe('listed')
  }
  expect(await night(mirror, 5, WITHOUT_2)).toMatchObject({ missing: 1, removed: 0 })
  expect(await night(mirror, 6, WITHOUT_2, { ending })).toMatchObject({ missing: 0, removed: 0 })
  expect(fateOf(mirror, 2)).toBe('missing')

  expect(await night(mirror, 7, WITHOUT_2)).toMatchObject({ missing: 0, removed: 1 })
})

test('a customer seen by an unproven scan is listed again', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, ALL_FIVE)
  await night(mirror, 2, WITHOUT_2)
  await night(mirror, 3, ALL_FIVE, { ending: { proof: 'unproven', reasons: ['hole'] } })

  expect(fateOf(mirror, 2)).toBe('listed')
  expect(await night(mirror, 4, WITHOUT_2)).toMatchObject({ missing: 1, removed: 0 })
})

test('a proven scan without a rule for removals marks no customer', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, ALL_FIVE)

  await mirrorPages(mirror, [WITHOUT_2], { atMs: START_MS + 2 * DAY_MS, ending: { proof: 'proven', reasons: [] } })

  expect(fateOf(mirror, 2)).toBe('listed')
})

test('a customer whose record is rejected counts as seen: not missing, with its last good values', async () => {
  const mirror = await aMirror()
  const broken = ALL_FIVE.map((sent) => (sent['id'] === customerId(2) ? { ...sent, name: ['Two', 'Names'] } : sent))
  await night(mirror, 1, ALL_FIVE)

  for (const n of [2, 3, 4]) {
    expect(await night(mirror, n, broken)).toMatchObject({ rejected: 1, missing: 0, removed: 0 })
  }

  expect(customerRow(mirror, 2)).toMatchObject({ name: 'Customer 2', missing_since: null, removed_at: null })
})

test('a customer whose record had to be rejected in between was not absent twice in a row', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, ALL_FIVE)
  await night(mirror, 2, WITHOUT_2)
  await night(mirror, 3, [...WITHOUT_2, aCustomer(2, { name: ['Two', 'Names'] })])

  expect(await night(mirror, 4, WITHOUT_2)).toMatchObject({ missing: 1, removed: 0 })
})

test('a removed customer who comes back in a record that has to be rejected has returned, with the last good values', async () => {
  const mirror = await aMirror()
  for (const [index, list] of [ALL_FIVE, WITHOUT_2, WITHOUT_2].entries()) await night(mirror, index + 1, list)
  expect(fateOf(mirror, 2)).toBe('removed')
  const broken = [...WITHOUT_2, aCustomer(2, { name: ['Two', 'Names'] })]

  const report = await night(mirror, 4, broken)

  expect(report).toMatchObject({ status: 'complete', received: 5, rejected: 1, unchanged: 4, updated: 0, returned: 1 })
  expect(await mirror.listRuns({ limit: 1 })).toEqual([report])
  expect(customerRow(mirror, 2)).toMatchObject({ name: 'Customer 2', missing_since: null, removed_at: null })
  expect(changes(mirror)).toEqual([
    [customerId(2), 'removed', expect.any(Number)],
    [customerId(2), 'returned', report.runId],
  ])
  expect(await mirror.listFreshness()).toMatchObject([{ active: 5, missing: 0, removed: 0, openRejects: 1 }])
  expect(await night(mirror, 5, broken)).toMatchObject({ rejected: 1, returned: 0 })
  expect(await night(mirror, 6, WITHOUT_2)).toMatchObject({ missing: 1, removed: 0 })
})

test('a removed customer who comes back both ways in one run has returned once', async () => {
  const mirror = await aMirror()
  for (const [index, list] of [ALL_FIVE, WITHOUT_2, WITHOUT_2].entries()) await night(mirror, index + 1, list)
  const broken = aCustomer(2, { name: ['Two', 'Names'] })

  for (const [n, pages] of [
    [4, [[broken], [...WITHOUT_2, aCustomer(2)]]],
    [7, [[...WITHOUT_2, aCustomer(2)], [broken]]],
  ] as const) {
    const report = await mirrorPages(mirror, pages, { atMs: START_MS + n * DAY_MS, ending: scanEnding({}) })
    expect(report).toMatchObject({ status: 'complete', returned: 1, rejected: 1 })
    expect(fateOf(mirror, 2)).toBe('listed')
    for (const later of [1, 2]) await night(mirror, n + later, WITHOUT_2)
  }

  expect(changes(mirror).map(([, change]) => change)).toEqual(['removed', 'returned', 'removed', 'returned', 'removed'])
})

test("a reject with the id of another organization's removed customer returns no customer", async () => {
  const mirror = await aMirror()
  for (const [index, list] of [ALL_FIVE, WITHOUT_2, WITHOUT_2].entries()) await night(mirror, index + 1, list)

  const broken = [aCustomer(2, { name: ['Two', 'Names'] })]
  expect(await night(mirror, 4, broken, { organization: 'globex' })).toMatchObject({ rejected: 1, returned: 0 })

  expect(fateOf(mirror, 2)).toBe('removed')
})

test('a reject without a readable id protects no customer', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, ALL_FIVE)

  expect(await night(mirror, 2, [...WITHOUT_2, aCustomer(2, { id: 'unreadable' })])).toMatchObject({ missing: 1 })
})

test('removed customers are not counted missing or removed again', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, ALL_FIVE)
  for (const n of [2, 3]) await night(mirror, n, WITHOUT_2)

  for (const n of [4, 5, 6]) {
    expect(await night(mirror, n, WITHOUT_2)).toMatchObject({ missing: 0, removed: 0, held: 0, unchanged: 4 })
  }

  expect(changes(mirror)).toHaveLength(1)
})

test('an absence in one organization does not affect the customers of another', async () => {
  const mirror = await aMirror()
  for (const organization of ['acme', 'globex']) await night(mirror, 1, ALL_FIVE, { organization })

  for (const n of [2, 3]) await night(mirror, n, WITHOUT_2, { organization: 'acme' })

  expect(
    rowsOf(
      mirror.file,
      'SELECT organization, id FROM customers WHERE removed_at IS NOT NULL OR missing_since IS NOT NULL',
    ),
  ).toEqual([{ organization: 'acme', id: customerId(2) }])
})

test('removals are marked with the end of the run or not at all', async () => {
  const mirror = await aMirror()
  const other = await aMirror(mirror.file)
  await night(mirror, 1, ALL_FIVE)
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS + 2 * DAY_MS })
  await mirror.savePages(run, [aPage(1, WITHOUT_2)], START_MS + 2 * DAY_MS)
  await other.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS + 3 * DAY_MS })
  const ending = scanEnding({ rule: { after: 1, maxShare: 0.1 } })

  await expect(mirror.finishRun(run, ending, START_MS + 3 * DAY_MS)).rejects.toMatchObject({ code: 'leased' })

  expect(fateOf(mirror, 2)).toBe('listed')
  expect(changes(mirror)).toEqual([])
})

function shown({ missing_since: _missing, removed_at: _removed, ...values }: Record<string, unknown>) {
  return values
}

test('a customer whose row was edited so that it is missing no more has no absence yet, whatever its counts say', async () => {
  const mirror = await aMirror()
  const list = customers(1, 30)
  await night(mirror, 1, list)
  await night(mirror, 2, list.slice(1))
  tamper(mirror.file, 'UPDATE customers SET missing_since = NULL')

  expect(await night(mirror, 3, list.slice(1))).toMatchObject({ missing: 1, removed: 0 })
  expect(await night(mirror, 4, list.slice(1))).toMatchObject({ missing: 0, removed: 1 })
})
