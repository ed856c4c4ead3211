import { expect, test, vi } from 'vitest'
import type { Mirror } from '../../../src/model/mirror.ts'
import { aCustomer, anEnding, aPage, customers, START_MS } from '../../support/builders.ts'
import { aMirror, mirrorPages, rowsOf, tamper, valueOf } from '../../support/mirror-file.ts'

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

const addedByHand = (id: string) =>
  `INSERT INTO customers (organization, id, first_seen_at, changed_at, last_run_id, updated_at)
   SELECT organization, ${id}, first_seen_at, changed_at, last_run_id, updated_at FROM customers LIMIT 1`

test('a customer that was added by hand a second time is named with how to find it', async () => {
  const mirror = await aMirror()
  const run = await saveAll(mirror)
  tamper(mirror.file, addedByHand('id'))

  await expect(mirror.finishRun(run, anEnding(), START_MS)).rejects.toMatchObject({
    code: 'damaged',
    message: expect.stringMatching(/: has two rows of one customer, .* HAVING COUNT\(\*\) > 1\. Delete what was added/),
  })
})
