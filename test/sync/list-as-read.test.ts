import { expect, test } from 'vitest'
import type { Mirror } from '../../src/store/mirror.ts'
import { CHAIN, expectAlike, makeNight } from '../support/alike-nights.ts'
import { aCustomer, customers } from '../support/builders.ts'
import { aMirror, tamper, valueOf } from '../support/mirror-file.ts'

test('a customer that has changed, or was changed by hand, is not known by its record of before, wherever that comes again', async () => {
  const list = customers(1, 60)
  const moved = [...customers(101, 125), ...list]
  const renamed = moved.with(40, aCustomer(16, { name: 'Renamed' }))
  const edit = async ({ file }: Mirror) => tamper(file, `UPDATE customers SET name = 'By Hand' WHERE row_id = 30`)
  const told = CHAIN
  const mirror = await aMirror()

  for (const night of [-1, 0]) await makeNight(mirror, night, { list, told })
  await makeNight(mirror, 1, { list: renamed, told, meanwhile: { after: 2, meddle: edit } })
  expect(valueOf(mirror.file, `SELECT name FROM customers WHERE row_id = 16`)).toBe('Renamed')
  await makeNight(mirror, 2, { list, told })

  const names = `SELECT group_concat(name) FROM (SELECT name FROM customers WHERE row_id IN (16, 30) ORDER BY row_id) AS named`
  expect(valueOf(mirror.file, names)).toBe('Customer 16,Customer 30')
})

test.each(['missing_since', 'removed_at'])(
  'a customer whose %s was changed by hand is found on a known page',
  async (column) => {
    const list = customers(1, 20)
    const sql = `UPDATE customers SET ${column} = first_seen_at WHERE row_id = 15`
    const meanwhile = { after: 0, meddle: async ({ file }: Mirror) => tamper(file, sql) }

    const { reports } = await expectAlike([{ list }, { list, meanwhile }, { list }])

    expect(reports[1]?.updated).toBe(1)
  },
)

test('however many kinds of oddities a list has, a customer that is recognized has its own', async () => {
  const unknown = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`field ${n}`, 1]))
  const list = Array.from({ length: 300 }, (_, n) => aCustomer(n + 1, unknown(n)))
  const told = { scan: 'chain', pageSize: 100 } as const

  const { recognized } = await expectAlike([{ list, told }])

  expect(recognized[0]).toBeGreaterThan(200)
})

test('a customer who changes back between two windows is compared again, and the next night too', async () => {
  const list = customers(1, 45)
  const renamed = [...customers(1, 10, { name: 'New' }), ...list.slice(10)]

  const { mirror } = await expectAlike([
    { list, told: CHAIN },
    { list: (answered) => (answered < 1 ? renamed : list), told: CHAIN },
    { list, told: CHAIN },
  ])

  expect(valueOf(mirror.file, `SELECT count(*) FROM customers WHERE name = 'New'`)).toBe(0)
})
