import { expect, test } from 'vitest'
import { TEXT_FIELDS } from '../../src/model/customer.ts'
import { aCustomer, aPage, customerId, customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { sqliteAlone } from '../support/mirror-choice.ts'
import { aMirror, dump, mirrorPages, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'

const LATER = { atMs: START_MS + MINUTE_MS }
const LATER_TEXT = '2026-01-05 02:01:00.000'

test('a customer is stored field by field as it was sent', async () => {
  const mirror = await aMirror()

  const { runId } = await mirrorPages(mirror, [[aCustomer(1, { phone: null, vip: true })]])

  expect(rowsOf(mirror.file, 'SELECT * FROM customers')).toMatchObject([
    {
      ...aCustomer(1),
      organization: 'acme',
      phone: null,
      created_at_utc: '2024-01-02 03:04:05',
      extra: '{"vip":true}',
      first_seen_at: '2026-01-05 02:00:00.000',
      changed_at: '2026-01-05 02:00:00.000',
      missing_since: null,
      removed_at: null,
      last_run_id: runId,
      updated_at: '2026-01-05 02:00:00.000',
      is_active: 1,
    },
  ])
})

test.skipIf(sqliteAlone.indexesOfSetColumns)(
  'a change of one field sets no column that has an index of its own',
  async () => {
    const mirror = await aMirror()
    await mirrorPages(mirror, [customers(1, 5)])
    tamper(
      mirror.file,
      `CREATE TRIGGER no_indexed BEFORE UPDATE OF email, language, missing_since, removed_at ON customers
     BEGIN SELECT RAISE(ABORT, 'set'); END`,
    )

    const report = await mirrorPages(mirror, [[aCustomer(1, { name: 'Ada' }), ...customers(2, 5)]], LATER)

    expect(report).toMatchObject({ updated: 1, unchanged: 4 })
    const changed = mirrorPages(mirror, [[aCustomer(1, { name: 'Ada', language: 'fr' }), ...customers(2, 5)]], LATER)
    await expect(changed).rejects.toThrow('trigger no_indexed')
  },
)

test.each([...TEXT_FIELDS, 'vip'])('a change of %s is seen, stored and recorded with both values', async (field) => {
  const mirror = await aMirror()
  const column = field === 'vip' ? 'extra' : field
  await mirrorPages(mirror, [[aCustomer(1, { [field]: 'before' })]])

  await mirrorPages(mirror, [[aCustomer(1, { [field]: 'after' })]], LATER)

  const [change] = rowsOf(mirror.file, 'SELECT * FROM changes')
  const told = column === 'extra' ? ['{"vip":"before"}', '{"vip":"after"}'] : ['before', 'after']
  expect(change).toMatchObject({ id: customerId(1), change: 'changed', at: LATER_TEXT })
  expect(JSON.parse(String(change?.['fields']))).toEqual({ [column]: told })
  expect(valueOf(mirror.file, `SELECT ${column} FROM customers`)).toBe(told[1])
})

test.each([
  ['failed', { status: 'failed', reasons: ['failed'], readToEnd: false }],
  ['was interrupted', { status: 'interrupted', reasons: ['interrupted'], readToEnd: false }],
  ['was a trial of some pages', { reasons: ['page-limit'], readToEnd: false }],
] as const)(
  'a first run that %s is no baseline: the next one completes it and records no changes',
  async (_, ending) => {
    const mirror = await aMirror()
    await mirrorPages(mirror, [customers(1, 5)], { ending })

    await mirrorPages(mirror, [[aCustomer(1, { name: 'Renamed' }), ...customers(2, 9)]], LATER)
    expect(rowsOf(mirror.file, 'SELECT * FROM changes')).toEqual([])

    await mirrorPages(mirror, [customers(10, 10)], { atMs: START_MS + 2 * MINUTE_MS })
    expect(rowsOf(mirror.file, 'SELECT id FROM changes')).toEqual([{ id: customerId(10) }])
  },
)

test('a removed customer that is listed again has returned, with its changed fields', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, 3)])
  tamper(mirror.file, `UPDATE customers SET missing_since = '2026-01-04', removed_at = '2026-01-05' WHERE row_id < 3`)

  const report = await mirrorPages(mirror, [[aCustomer(1), aCustomer(2, { name: 'Renamed' }), aCustomer(3)]], LATER)

  expect(report).toMatchObject({ updated: 2, unchanged: 1, returned: 2 })
  expect(rowsOf(mirror.file, 'SELECT id, change, fields FROM changes ORDER BY seq')).toEqual([
    { id: customerId(1), change: 'returned', fields: null },
    { id: customerId(2), change: 'returned', fields: '{"name":["Customer 2","Renamed"]}' },
  ])
  expect(
    rowsOf(mirror.file, 'SELECT changed_at FROM customers WHERE missing_since IS NULL AND removed_at IS NULL'),
  ).toEqual([
    { changed_at: '2026-01-05 02:00:00.000' },
    { changed_at: LATER_TEXT },
    { changed_at: '2026-01-05 02:00:00.000' },
  ])
})

test('a missing customer that is listed again is not missing, and no change is recorded', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, 1)])
  tamper(mirror.file, `UPDATE customers SET missing_since = '2026-01-04'`)

  expect(await mirrorPages(mirror, [customers(1, 1)], LATER)).toMatchObject({ updated: 1, returned: 0 })
  expect(valueOf(mirror.file, 'SELECT missing_since FROM customers')).toBeNull()
  expect(rowsOf(mirror.file, 'SELECT * FROM changes')).toEqual([])
})

test('an id that is listed twice counts once, and the first record is kept', async () => {
  const mirror = await aMirror()
  const twice = [[aCustomer(1, { name: 'First' }), aCustomer(2), aCustomer(1, { name: 'Second' })], [aCustomer(2)]]

  expect(await mirrorPages(mirror, twice)).toMatchObject({
    received: 4,
    inserted: 2,
    duplicates: 2,
    warnings: { conflicting_duplicate: 1 },
  })
  expect(await mirrorPages(mirror, twice, LATER)).toMatchObject({ unchanged: 2, duplicates: 2, updated: 0 })
  expect(valueOf(mirror.file, 'SELECT name FROM customers WHERE id = ?', customerId(1))).toBe('First')
  expect(rowsOf(mirror.file, 'SELECT * FROM changes')).toEqual([])
})

test('runs of two organizations may alternate page by page without mixing', async () => {
  const mirror = await aMirror()
  const ours = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  const theirs = await mirror.startRun({ organization: 'globex', trigger: 'sync', nowMs: START_MS })
  for (let page = 1; page <= 3; page += 1) {
    await mirror.savePages(ours, [aPage(page, customers(page, page))], START_MS)
    await mirror.savePages(theirs, [aPage(page, customers(page, page, { name: 'Theirs' }))], START_MS)
  }

  expect([ours.records.inserted, theirs.records.inserted]).toEqual([3, 3])
  expect(dump(mirror.file)['runs']).toMatchObject([{ inserted: 3 }, { inserted: 3 }])
})
