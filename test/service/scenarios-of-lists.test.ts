import { expect, test } from 'vitest'
import type { ServiceCustomer } from '../../src/service/customers.ts'
import { lostAndRepeated, onAClock, played } from './a-sandbox.ts'

test('insert: customers appear at every second request, in order of creation', async () => {
  const { hand, get, truth } = await played('insert')
  const totals: number[] = []
  for (let page = 1; page <= 6; page += 1) totals.push((await get(page)).meta.total)
  expect(totals).toEqual([1000, 1001, 1001, 1002, 1002, 1003])
  expectInOrder(hand.customers.map(({ created_at }) => created_at))
  expect(truth.everDeleted().size).toBe(0)
})

test.each(['insert-delete', 'by-name-churn'])('%s: customers come and go and the total never changes', async (name) => {
  const { get, truth, hand } = await played(name)
  const mark = truth.mark()
  for (let page = 1; page <= 10; page += 1) expect((await get(page)).meta.total).toBe(1000)
  expect(truth.lived(mark).size).toBe(1000 - truth.everDeleted().size)
  expect(truth.everDeleted().size).toBe(9)
  expect(hand.customers).toHaveLength(1000)
})

test('purge: a twelfth of all leaves at the fourth request, from pages read before', async () => {
  const { acme, get, truth } = await played('purge')
  const totals = [await get(1), await get(2), await get(3), await get(4), await get(5)].map(({ meta }) => meta.total)
  expect(totals).toEqual([1000, 1000, 1000, 917, 917])
  const read = new Set(acme.customers.slice(0, 300).map(({ id }) => id))
  expect(truth.everDeleted().isSubsetOf(read)).toBe(true)
})

test.each([
  ['move', (now: readonly string[]) => now[0]],
  ['move-back', (now: readonly string[]) => now.at(-1)],
])('%s: at every second request a customer is changed and moves; none is added or deleted', async (name, moved) => {
  const { acme, get, hand, truth } = await played(name)
  const ids = () => hand.customers.map(({ id }) => id)
  const before = ids()
  await get(1)
  expect(ids()).toEqual(before)
  await get(1)
  const mover = moved(ids())
  expect(ids().filter((id) => id !== mover)).toEqual(before.filter((id) => id !== mover))
  expect(ids()).not.toEqual(before)
  const phoneOf = (rows: typeof acme.customers) => rows.find(({ id }) => id === mover)?.phone
  expect(phoneOf(hand.customers)).not.toBe(phoneOf(acme.customers))
  expect(truth.lived({ changes: 0 }).size).toBe(1000)
})

test('heal: the list moves during the first pass and is at rest after it', async () => {
  const { hand, readAll, truth } = await played('heal')
  const before = hand.customers.map(({ id }) => id)
  await readAll()
  const after = hand.customers.map(({ id }) => id)
  expect(after).not.toEqual(before)
  expect(await readAll()).toEqual(after)
  expect(hand.customers.map(({ id }) => id)).toEqual(after)
  expect(truth.listed().size).toBe(1000)
})

test.each(['ties', 'unstable', 'shuffle'])(
  '%s: no row moves, the total is right, and a page loop loses and repeats customers',
  async (name) => {
    const { readAll, truth, hand, get } = await played(name)
    const mark = truth.mark()
    const ids = await readAll(50)
    expect(ids).toHaveLength(1000)
    const { lost, again } = lostAndRepeated(ids, truth.lived(mark))
    expect(lost).toBeGreaterThan(0)
    expect(again).toBe(lost)
    expect(hand.customers).toHaveLength(1000)
    expect((await get(3)).meta.total).toBe(1000)
  },
)

test('ties: forty share a second; the same page in the same size is the same again, in another size it is not', async () => {
  const { acme, get } = await played('ties')
  expect(new Set(acme.customers.map(({ created_at }) => created_at)).size).toBe(25)
  const [page, again, others] = [
    await get(2, 50),
    await get(2, 50),
    [...(await get(3, 25)).ids, ...(await get(4, 25)).ids],
  ]
  expect(again.ids).toEqual(page.ids)
  expect(others).not.toEqual(page.ids)
  expect((await get(1, 40)).ids.toSorted()).toEqual(
    acme.customers
      .slice(0, 40)
      .map(({ id }) => id)
      .toSorted(),
  )
})

test('unstable: no customer is more than twenty positions away from its place', async () => {
  const { acme, get } = await played('unstable')
  const home = new Map(acme.customers.map(({ id }, position) => [id, position]))
  const [first, second] = [await get(3), await get(3)]
  expect(second.ids).not.toEqual(first.ids)
  for (const { ids } of [first, second]) {
    const distances = ids.map((id, index) => Math.abs((home.get(id) ?? NaN) - (200 + index)))
    expect(Math.max(...distances)).toBeLessThanOrEqual(20)
    expect(Math.max(...distances)).toBeGreaterThan(0)
  }
})

test('delete: customers leave at every second request until half are gone, and a page loop loses others', async () => {
  const { hand, get, readAll, truth } = await played('delete')
  const mark = truth.mark()
  const ids = await readAll()
  expect(truth.everDeleted().size).toBe(5)
  expect(lostAndRepeated(ids, truth.lived(mark)).lost).toBeGreaterThan(0)
  const small = await played('delete', { customers: 10 })
  for (let request = 1; request <= 30; request += 1) await small.get(1)
  expect(small.hand.customers).toHaveLength(5)
  expect((await get(1)).ids).toEqual(hand.customers.slice(0, 100).map(({ id }) => id))
})

test('count-lies: five read customers leave, five come at the end, and the total stays the same', async () => {
  const { acme, readAll, truth, hand } = await played('count-lies')
  const mark = truth.mark()
  const ids = await readAll()
  expect(ids).toHaveLength(1000)
  expect(lostAndRepeated(ids, truth.lived(mark))).toEqual({ lost: 5, again: 0 })
  expect(truth.everDeleted().isSubsetOf(new Set(acme.customers.slice(0, 300).map(({ id }) => id)))).toBe(true)
  const known = new Set(acme.customers.map(({ id }) => id))
  expect(hand.customers.slice(-5).every(({ id }) => !known.has(id))).toBe(true)
  expect(await readAll()).toEqual(hand.customers.map(({ id }) => id))
})

/** Expects the values to rise. */
function expectInOrder(values: readonly string[]): void {
  expect(values).toEqual(values.toSorted())
}

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
