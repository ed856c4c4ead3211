import { expect, test } from 'vitest'
import { night, scanEnding } from './nights.ts'
import { aCustomer, aPage, customerId, customers, START_MS, DAY_MS, HOUR_MS } from '../support/builders.ts'
import { aMirror, type Row, rowsOf } from '../support/mirror-file.ts'

/** A warehouse that asks only for what has a greater `updated_at` than what it has; `read` returns the rows that are new to it. */
function aReader(file: string) {
  const rows = new Map<string, Row>()
  let newest = '1970-01-01'
  const read = () => {
    const found = rowsOf(file, 'SELECT * FROM customers WHERE updated_at > ? ORDER BY updated_at', newest)
    for (const row of found) {
      rows.set(`${String(row['organization'])} ${String(row['id'])}`, row)
      newest = String(row['updated_at'])
    }
    return found
  }
  return { read, rows: () => [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row) }
}

const named = (...numbers: number[]) => numbers.map((n) => `Customer ${n}`)
const badRecord = (n: number) => ({ id: customerId(n), name: {} })

test('every visible change of a row is read by its updated_at, and nothing else is', async () => {
  const mirror = await aMirror()
  const reader = aReader(mirror.file)
  const changed = () =>
    reader
      .read()
      .map(({ name }) => String(name))
      .toSorted()
  await night(mirror, 0, customers(1, 30))
  expect(changed()).toHaveLength(30)

  await night(mirror, 1, [...customers(1, 29), badRecord(30)])
  expect(changed(), 'as before, and with a broken record').toEqual([])
  await night(mirror, 2, [aCustomer(1, { phone: 'new' }), ...customers(2, 28)])
  expect(changed(), 'changed, and missing').toEqual(named(1, 29, 30))
  const list = [aCustomer(1, { phone: 'new' }), ...customers(2, 28)]
  await night(mirror, 3, [...list, aCustomer(30)])
  expect(changed(), 'removed, and no longer missing').toEqual(named(29, 30))
  await night(mirror, 4, [...list, ...customers(29, 30)])
  expect(changed(), 'returned').toEqual(named(29))
  await night(mirror, 5, list)
  await night(mirror, 6, list)
  expect(changed(), 'missing and removed').toEqual(named(29, 30))
  await night(mirror, 7, [...list, badRecord(30)])
  expect(changed(), 'returned in a reject').toEqual(named(30))
})

test('a reader of updated_at has every row as it is, whatever runs at once, is approved, and wherever clocks stand', async () => {
  const first = await aMirror()
  await night(first, 0, customers(1, 40))
  const { runId = 0 } = await night(first, 1, customers(31, 40))
  const reader = aReader(first.file)
  // One clock is two days ahead of the other, and both are set back.
  const clocks = [START_MS + 4 * DAY_MS, START_MS + 2 * DAY_MS]
  const mirrors = [first, await aMirror(first.file)]
  const runs = await Promise.all(
    mirrors.map((mirror, at) => {
      const organization = `shop-${at}`
      return mirror.startRun({ organization, trigger: 'sync', nowMs: clocks[at] ?? 0 })
    }),
  )
  for (let page = 1; page <= 3; page += 1)
    for (const [at, run] of runs.entries()) {
      const nowMs = (clocks[at] ?? 0) - page * HOUR_MS
      await mirrors[at]?.savePages(run, [aPage(page, customers(page, page + 9, { name: `Page ${page}` }))], nowMs)
      reader.read()
    }
  for (const [at, run] of runs.entries()) await mirrors[at]?.finishRun(run, scanEnding({}), START_MS)
  expect(await first.approveRemovals(runId, START_MS)).toBe(30)
  expect(reader.read()).toHaveLength(30)

  expect(reader.rows()).toEqual(rowsOf(first.file, 'SELECT * FROM customers ORDER BY organization, id'))
})
