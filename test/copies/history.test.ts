import { expect, test } from 'vitest'
import { storableText } from '../../src/text/storable-text.ts'
import { aCustomer, customerId, customers, START_MS } from '../support/builders.ts'
import { aMirror, mirrorPages, rowsOf } from '../support/mirror-file.ts'
import { DAY_MS, night, scanEnding } from '../store/nights.ts'

const HISTORY = `SELECT name, valid_from, valid_to, valid_from_after, valid_to_after, opened_by, closed_by
  FROM customers_history WHERE organization = 'acme' AND id = ? ORDER BY valid_from`
const day = (n: number) => `2026-01-${String(5 + n).padStart(2, '0')} 02:00:00.000`
const historyOf = (file: string, n: number) => rowsOf(file, HISTORY, customerId(n)).map((row) => Object.values(row))

test('a customer has one row for each version, with the scans between which each change happened', async () => {
  const mirror = await aMirror()
  const others = customers(2, 40)
  await night(mirror, 0, [aCustomer(1), ...others])
  await night(mirror, 1, [aCustomer(1), ...others], { proof: 'unproven' })
  await night(mirror, 2, [aCustomer(1, { name: 'Ada' }), ...others])
  await night(mirror, 3, others)
  await night(mirror, 4, others)
  await night(mirror, 6, [aCustomer(1, { name: 'Ada Lovelace' }), ...others])

  expect(historyOf(mirror.file, 1)).toEqual([
    ['Customer 1', day(0), day(2), null, day(0), 'listed', 'changed'],
    ['Ada', day(2), day(4), day(0), day(2), 'changed', 'removed'],
    ['Ada Lovelace', day(6), null, day(4), null, 'returned', null],
  ])
})

test('a customer who is new is known not to have been listed when the scan before began', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(2, 9))
  await night(mirror, 1, customers(1, 9))

  expect(historyOf(mirror.file, 1)).toEqual([['Customer 1', day(1), null, day(0), null, 'added', null]])
})

test('a removal that was approved later happened before the run that held it back', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 60))
  await night(mirror, 1, customers(1, 60))
  const { runId = 0 } = await night(mirror, 2, customers(31, 60))
  await night(mirror, 3, customers(31, 60), { proof: 'unproven' })
  await mirror.approveRemovals(runId, START_MS + 5 * DAY_MS)

  expect(historyOf(mirror.file, 1)).toEqual([['Customer 1', day(0), day(5), null, day(1), 'listed', 'removed']])
})

test('plain scans date changes too, as freshness does', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, 2)])
  await mirrorPages(mirror, [[aCustomer(1, { name: 'Ada' }), aCustomer(2)]], { atMs: START_MS + DAY_MS })

  expect(historyOf(mirror.file, 1).map(([name, , , after]) => [name, after])).toEqual([
    ['Customer 1', null],
    ['Ada', day(0)],
  ])
})

test('values come back exactly as they are stored: NULL, empty, quotes, U+0000 and JSON', async () => {
  const mirror = await aMirror()
  const values = [null, '', `"it's"`, 'null', '{"a":1}', 'a\0b', '😀', '\ud800']
  for (const [n, name] of values.entries())
    await night(mirror, n, [aCustomer(1, { name, vip: { n } }), ...customers(2, 9)])

  const found = rowsOf(
    mirror.file,
    `SELECT name, extra FROM customers_history WHERE id = ? ORDER BY valid_from`,
    customerId(1),
  )

  expect(found).toEqual(
    values.map((name, n) => ({ name: name === null ? null : storableText(name), extra: `{"vip":{"n":${n}}}` })),
  )
})

test('days between the runs are in customers_daily, and an organization that was never read to its end is not', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 40))
  await night(mirror, 3, [aCustomer(1, { name: 'Ada' }), ...customers(2, 39), aCustomer(41)])
  await night(mirror, 4, [aCustomer(1, { name: 'Ada' }), ...customers(2, 39), aCustomer(41)])
  await mirrorPages(mirror, [customers(1, 9)], { organization: 'globex', ending: { reasons: ['page-limit'] } })

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
  await night(mirror, 0, customers(1, 7))
  await mirrorPages(mirror, [customers(1, 8)], { atMs: START_MS + 4 * DAY_MS, ending: scanEnding({}) })

  const daily = rowsOf(mirror.file, 'SELECT day, active, added FROM customers_daily ORDER BY day')

  expect(daily).toEqual([
    { day: '2026-01-05', active: 7, added: 7 },
    ...['06', '07', '08'].map((of) => ({ day: `2026-01-${of}`, active: 7, added: 0 })),
    { day: '2026-01-09', active: 8, added: 1 },
  ])
})
