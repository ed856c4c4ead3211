import { expect, test } from 'vitest'
import { aCustomer, customerId, customers, START_MS, DAY_MS } from '../support/builders.ts'
import { aMirror, mirrorPages, rowsOf } from '../support/mirror-file.ts'
import { aMirrorOf, night, scanEnding } from '../store/nights.ts'

const HISTORY = `SELECT name, valid_from, valid_to, valid_from_after, valid_to_after, opened_by, closed_by
  FROM customers_history WHERE organization = 'acme' AND id = ? ORDER BY valid_from`
const timeOf = (n: number) => `2026-01-${String(5 + n).padStart(2, '0')} 02:00:00.000`
const historyOf = (file: string, n: number) => rowsOf(file, HISTORY, customerId(n)).map((row) => Object.values(row))

test('a customer has one row for each version, with the scans between which each change happened', async () => {
  const others = customers(2, 40)
  const mirror = await aMirrorOf([aCustomer(1), ...others])
  await night(mirror, 1, [aCustomer(1), ...others], { proof: 'unproven' })
  await night(mirror, 2, [aCustomer(1, { name: 'Ada' }), ...others])
  await night(mirror, 3, others)
  await night(mirror, 4, others)
  await night(mirror, 6, [aCustomer(1, { name: 'Ada Lovelace' }), ...others])

  expect(historyOf(mirror.file, 1)).toEqual([
    ['Customer 1', timeOf(0), timeOf(2), null, timeOf(0), 'listed', 'changed'],
    ['Ada', timeOf(2), timeOf(4), timeOf(0), timeOf(2), 'changed', 'removed'],
    ['Ada Lovelace', timeOf(6), null, timeOf(4), null, 'returned', null],
  ])
})

test('a removal that was approved later happened before the run that held it back', async () => {
  const mirror = await aMirrorOf(customers(1, 60), customers(1, 60))
  const { runId = 0 } = await night(mirror, 2, customers(31, 60))
  await night(mirror, 3, customers(31, 60), { proof: 'unproven' })
  await mirror.approveRemovals(runId, START_MS + 5 * DAY_MS)

  const removed = ['Customer 1', timeOf(0), timeOf(5), null, timeOf(1), 'listed', 'removed']
  expect(historyOf(mirror.file, 1)).toEqual([removed])
})

test('days between the runs are in customers_daily, and an organization that was never read to its end is not', async () => {
  const mirror = await aMirrorOf(customers(1, 40))
  for (const n of [3, 4]) await night(mirror, n, [aCustomer(1, { name: 'Ada' }), ...customers(2, 39), aCustomer(41)])
  await mirrorPages(mirror, [customers(1, 9)], { organization: 'globex', ending: { reasons: ['cached-answer'] } })

  const daily = rowsOf(mirror.file, 'SELECT * FROM customers_daily ORDER BY day').map((row) => Object.values(row))

  expect(daily).toEqual([
    ['acme', '2026-01-05', 40, 40, 0, 0],
    ['acme', '2026-01-06', 40, 0, 0, 0],
    ['acme', '2026-01-07', 40, 0, 0, 0],
    ['acme', '2026-01-08', 41, 1, 0, 1],
    ['acme', '2026-01-09', 40, 0, 1, 0],
  ])
})

test('a clock that was set back moves days, and their numbers add up all the same', async () => {
  const mirror = await aMirror()
  await night(mirror, 3, customers(1, 5))
  await mirrorPages(mirror, [[aCustomer(6)]], { atMs: START_MS - DAY_MS, ending: { reasons: ['cached-answer'] } })
  await night(mirror, 0, customers(1, 7))
  await mirrorPages(mirror, [customers(1, 8)], { atMs: START_MS + 4 * DAY_MS, ending: scanEnding({}) })

  const daily = rowsOf(mirror.file, 'SELECT day, active, added FROM customers_daily ORDER BY day')

  expect(daily).toEqual([
    { day: '2026-01-05', active: 7, added: 7 },
    ...['06', '07', '08'].map((of) => ({ day: `2026-01-${of}`, active: 7, added: 0 })),
    { day: '2026-01-09', active: 8, added: 1 },
  ])
})
