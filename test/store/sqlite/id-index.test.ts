import { expect, test, vi } from 'vitest'
import { FIND_BY_ROW } from '../../../src/store/pages/save-in-sqlite.ts'
import type { Mirror } from '../../../src/model/mirror.ts'
import { aCustomer, anEnding, aPage, customerId, customers, MINUTE_MS, START_MS } from '../../support/builders.ts'
import { aMirror, mirrorPages, rowsOf, tamper, valueOf } from '../../support/mirror-file.ts'
import { fillTemporaryFolder } from '../../support/room-to-sort.ts'

const hasIndex = ({ file }: Mirror) =>
  rowsOf(file, `SELECT name FROM sqlite_schema WHERE name = 'customers_by_id' AND sql LIKE 'CREATE UNIQUE%'`).length ===
  1

const started = (mirror: Mirror, organization = 'acme') =>
  mirror.startRun({ organization, trigger: 'sync', nowMs: START_MS })

/** Pages with overlaps, and a record that comes once more, and once with another name, in the same save and in a later one. */
const SAVES = [
  [aPage(1, [...customers(1, 30), aCustomer(7)]), aPage(2, [...customers(21, 50), aCustomer(8, { name: 'Ada' })])],
  [aPage(3, [...customers(41, 73), aCustomer(9, { name: 'Ada' }), aCustomer(3)])],
]

async function saveAll(mirror: Mirror, print?: number) {
  const run = await started(mirror)
  if (print !== undefined) vi.spyOn(run.fingerprint, 'id').mockReturnValue(print)
  for (const pages of SAVES) await mirror.savePages(run, pages, START_MS)
  return run
}

test('the first organization of a mirror is read without the index of ids, which is there when the run is over', async () => {
  const mirror = await aMirror()
  const run = await saveAll(mirror)
  const whileReading = hasIndex(mirror)
  const report = await mirror.finishRun(run, anEnding(), START_MS)

  expect([whileReading, hasIndex(mirror)]).toEqual([false, true])
  expect(report).toMatchObject({ received: 97, inserted: 73, duplicates: 24 })
  expect(valueOf(mirror.file, 'SELECT count(DISTINCT id) || count(*) FROM customers')).toBe('7373')
})

test.each([
  ['as they are', undefined],
  ['where all ids have the same fingerprint', 7],
])('a mirror holds the same that was filled without the index, %s, and with it', async (_, print) => {
  const [without, beside] = [await aMirror(), await aMirror()]
  await mirrorPages(beside, [customers(900, 900)], { organization: 'globex' })
  const runs = [await saveAll(without, print), await saveAll(beside)] as const
  const reports = [
    await without.finishRun(runs[0], anEnding(), START_MS),
    await beside.finishRun(runs[1], anEnding(), START_MS),
  ].map(({ inserted, duplicates, unchanged, warnings }) => ({ inserted, duplicates, unchanged, warnings }))
  const told = ({ file }: Mirror) =>
    rowsOf(
      file,
      `SELECT id, name, email, created_at_utc, first_seen_at FROM customers WHERE organization = 'acme' ORDER BY row_id`,
    )

  expect(told(without)).toEqual(told(beside))
  expect(reports[0]).toEqual(reports[1])
})

test('the index is there as soon as another organization begins, and the first one goes on', async () => {
  const mirror = await aMirror()
  const run = await started(mirror)
  const [first = [], second = []] = SAVES
  await mirror.savePages(run, first, START_MS)
  await started(mirror, 'globex')
  const whileReading = hasIndex(mirror)
  await mirror.savePages(run, second, START_MS)

  expect(whileReading).toBe(true)
  expect(await mirror.finishRun(run, anEnding(), START_MS)).toMatchObject({ inserted: 73, duplicates: 24 })
})

test('the index is there as soon as an interrupted run is continued, which finds the customers of the first', async () => {
  const mirror = await aMirror()
  const [first = []] = SAVES
  await mirror.savePages(await started(mirror), first, START_MS)
  const before = hasIndex(mirror)
  const report = await mirrorPages(mirror, [customers(1, 73)], { atMs: START_MS + 9 * MINUTE_MS })

  expect([before, hasIndex(mirror)]).toEqual([false, true])
  expect(report).toMatchObject({ inserted: 23 })
})

test('a customer that was added by hand meanwhile counts as known', async () => {
  const mirror = await aMirror()
  const run = await started(mirror)
  const [first = [], second = []] = SAVES
  await mirror.savePages(run, first, START_MS)
  tamper(mirror.file, addedByHand(`'${customerId(60)}'`))
  await mirror.savePages(run, second, START_MS)

  expect(hasIndex(mirror)).toBe(true)
  expect(await mirror.finishRun(run, anEnding(), START_MS)).toMatchObject({ inserted: 72, updated: 1, duplicates: 24 })
})

const addedByHand = (id: string) =>
  `INSERT INTO customers (organization, id, first_seen_at, changed_at, last_run_id, updated_at)
   SELECT organization, ${id}, first_seen_at, changed_at, last_run_id, updated_at FROM customers LIMIT 1`

test('a customer is found by its row, whatever indexes there are', async () => {
  const { file } = await aMirrorOf(100)
  const plan = rowsOf(file, `EXPLAIN QUERY PLAN ${FIND_BY_ROW}`, 'acme', '[1, 2]').map(({ detail }) => detail)

  expect(plan).toContain('SEARCH customers USING INTEGER PRIMARY KEY (rowid=?)')
})

async function aMirrorOf(count: number): Promise<Mirror> {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, count)])
  return mirror
}

test('a run that failed leaves it out, and the next one finds its customers all the same', async () => {
  const mirror = await aMirror()
  await mirror.finishRun(await saveAll(mirror), anEnding({ status: 'failed', readToEnd: false }), START_MS)
  const afterFailure = hasIndex(mirror)
  const report = await mirrorPages(mirror, [customers(1, 80)], { atMs: START_MS + MINUTE_MS })

  expect([afterFailure, hasIndex(mirror)]).toEqual([false, true])
  expect(report).toMatchObject({ inserted: 7, duplicates: 0 })
})

test.each([
  ['without the index', false],
  ['that had created the index', true],
])('a save %s and failed is repeated without a loss and without a customer twice', async (_, isIndexed) => {
  const mirror = await aMirror()
  const run = await started(mirror)
  const [first = [], second = []] = SAVES
  const broken = second.map((page) => ({
    ...page,
    customers: page.customers.map((customer, place) =>
      place === 20 ? Object.assign({ ...customer }, { name: {} }) : customer,
    ),
  }))
  if (isIndexed) tamper(mirror.file, 'CREATE TABLE of_another_program (x)')
  await expect(mirror.savePages(run, broken, START_MS)).rejects.toThrow(/can only bind/)
  // The rows of the save that failed are now those of other customers.
  await mirror.savePages(run, first, START_MS)
  await mirror.savePages(run, second, START_MS)

  expect(hasIndex(mirror)).toBe(isIndexed)
  expect(await mirror.finishRun(run, anEnding(), START_MS)).toMatchObject({ inserted: 73, duplicates: 24 })
  expect(rowsOf(mirror.file, 'SELECT DISTINCT id FROM customers')).toHaveLength(73)
})

test('a customer that was added by hand a second time is named with how to find it', async () => {
  const mirror = await aMirror()
  const run = await saveAll(mirror)
  tamper(mirror.file, addedByHand('id'))

  await expect(mirror.finishRun(run, anEnding(), START_MS)).rejects.toMatchObject({
    code: 'damaged',
    message: expect.stringMatching(/: has two rows of one customer, .* HAVING COUNT\(\*\) > 1\. Delete what was added/),
  })
})

test('a run goes on where another program writes to its mirror and the folder for temporary files is full', async () => {
  const mirror = await aMirror()
  const run = await started(mirror)
  const [first = [], second = []] = SAVES
  await mirror.savePages(run, first, START_MS)
  tamper(mirror.file, 'CREATE TABLE of_another_program (x)')
  fillTemporaryFolder(/customers_by_id/)

  await mirror.savePages(run, second, START_MS)

  expect(hasIndex(mirror)).toBe(true)
  expect(await mirror.finishRun(run, anEnding(), START_MS)).toMatchObject({ inserted: 73, duplicates: 24 })
})
