import { expect, test } from 'vitest'
import type { ServiceCustomer } from '../../src/service/customers.ts'
import { onAClock } from './a-sandbox.ts'

test('hidden-order: customers keep their order while fields change, and a few come and go', async () => {
  const { game, between } = await onAClock('hidden-order', { customers: 2000 })
  const before = [...game.hand.customers]
  const mark = game.truth.mark()

  await game.readAll()
  const afterwards = [...game.hand.customers]

  expect(changed(before, afterwards)).toHaveLength(10)
  expect(game.truth.everDeleted().size).toBe(1)
  expect(afterwards).toHaveLength(2000)
  expectSameOrder(before, afterwards)
  expect(game.truth.stayed(mark)).toEqual(game.truth.lived(mark))

  between(3_600_000)
  await game.get(1)
  const nextNight = [...game.hand.customers]

  expect(changed(afterwards, nextNight).length).toBeGreaterThan(5)
  expect(game.truth.everDeleted().size).toBe(2)
  expectSameOrder(afterwards, nextNight)
})

test('by-name-slow: each second five customers arrive and one is renamed, and the list stays in order of names', async () => {
  const { game, between } = await onAClock('by-name-slow')
  const before = [...game.hand.customers]
  const mark = game.truth.mark()

  for (const [ms, total] of [
    [0, 1000],
    [999, 1000],
    [1, 1005],
    [2500, 1015],
    [500, 1020],
  ] as const) {
    between(ms)
    expect((await game.get(1)).meta.total).toBe(total)
  }

  const names = game.hand.customers.map(({ name }) => name)
  expect(names).toEqual(names.toSorted())
  const renamed = changed(before, game.hand.customers)
  expect(renamed).toHaveLength(4)
  expect(game.truth.lived(mark).difference(game.truth.stayed(mark))).toEqual(new Set(renamed))
})

test('last-change: at every request a customer is changed and jumps to the front, at every tenth one is added there', async () => {
  const { game } = await onAClock('last-change')
  const before = [...game.hand.customers]
  const mark = game.truth.mark()
  await game.get(2)
  const mover = game.hand.customers[0]?.id
  expect(changed(before, game.hand.customers)).toEqual([mover])
  for (let request = 2; request <= 10; request += 1) await game.get(2)

  const stayed = game.truth.stayed(mark)
  expect(stayed.size).toBeGreaterThanOrEqual(990)
  expect(stayed.size).toBeLessThan(1000)
  expect(game.hand.customers).toHaveLength(1001)
  expect(game.truth.lived(mark)).not.toContain(game.hand.customers[0]?.id)
  expectSameOrder(
    before.filter(({ id }) => stayed.has(id)),
    game.hand.customers,
  )
})

test.each([
  [1200, 1000],
  [10_500, 10_000],
])(
  'capped-total: of %d customers only %d are counted and served, and a search finds the others',
  async (count, cap) => {
    const { game } = await onAClock('capped-total', { customers: count })
    const last = await game.get(cap / 100)
    expect(last.meta).toMatchObject({ total: cap, last_page: cap / 100 })
    expect(last.ids).toEqual(game.acme.customers.slice(cap - 100, cap).map(({ id }) => id))
    expect((await game.get(cap / 100 + 1)).ids).toEqual([])
    const hidden = game.acme.customers.at(-1)
    expect((await game.get(1, 100, hidden?.email)).ids).toEqual([hidden?.id])
  },
)

test('without other changes every customer has kept its place, and where all are arranged anew none has', async () => {
  for (const [scenario, kept] of [
    ['still', 50],
    ['capped-total', 50],
    ['unstable', 0],
  ] as const) {
    const { game } = await onAClock(scenario, { customers: 50 })
    const mark = game.truth.mark()
    await game.get(1)
    expect(game.truth.stayed(mark).size).toBe(kept)
  }
})

test('import-of-one-second: a sixteenth shares a second in the middle, in another order at every request', async () => {
  const { game } = await onAClock('import-of-one-second', { customers: 1600 })
  const dates = Map.groupBy(game.acme.customers, ({ created_at }) => created_at)
  const imported = [...dates.values()].filter((group) => group.length > 1).flat()
  expect(imported).toHaveLength(100)
  const at = game.acme.customers.findIndex(({ id }) => id === imported[0]?.id)
  expect(at).toBe(640)

  const [first, second] = [await game.get(7), await game.get(7)]
  expect(second.ids).not.toEqual(first.ids)
  expect(second.ids.slice(0, 40)).toEqual(first.ids.slice(0, 40))
  expect((await game.get(1)).ids).toEqual(game.acme.customers.slice(0, 100).map(({ id }) => id))
  const all = await game.readAll(10)
  expect(all).toHaveLength(1600)
  expect(new Set(all).size).toBeLessThan(1600)
  const ids = new Set(imported.map(({ id }) => id))
  expect(game.truth.lived({ changes: 0 }).difference(game.truth.stayed({ changes: 0 }))).toEqual(ids)
})

/** The ids of the customers in both lists whose fields differ. */
function changed(before: readonly ServiceCustomer[], after: readonly ServiceCustomer[]): string[] {
  const old = new Map(before.map((customer) => [customer.id, JSON.stringify(customer)]))
  return after.flatMap((customer) => {
    const known = old.get(customer.id)
    return known === undefined || known === JSON.stringify(customer) ? [] : [customer.id]
  })
}

/** Those in both lists stand in the same order in both. */
function expectSameOrder(before: readonly ServiceCustomer[], after: readonly ServiceCustomer[]): void {
  const [old, now] = [before, after].map((rows) => new Set(rows.map(({ id }) => id)))
  if (old === undefined || now === undefined) return
  expect([...now.intersection(old)].toSorted(by(after))).toEqual([...old.intersection(now)].toSorted(by(before)))
}

function by(rows: readonly ServiceCustomer[]): (one: string, other: string) => number {
  const places = new Map(rows.map(({ id }, place) => [id, place]))
  return (one, other) => (places.get(one) ?? 0) - (places.get(other) ?? 0)
}
