import { expect, test } from 'vitest'
import { onAClock } from './a-sandbox.ts'

test('hidden-order: neither dates, ids nor names show the order, and customers are added in the middle', async () => {
  const { game } = await onAClock('hidden-order', { customers: 400 })
  const known = new Set(game.hand.customers.map(({ id }) => id))
  for (let request = 1; request <= 60; request += 1) await game.get(1)

  const rows = game.hand.customers
  for (const field of ['created_at', 'id', 'name', 'username', 'email'] as const) {
    const steps = rows.slice(1).map((row, index) => row[field] > (rows[index]?.[field] ?? ''))
    const rising = steps.filter(Boolean).length / steps.length
    expect(rising).toBeGreaterThan(0.35)
    expect(rising).toBeLessThan(0.65)
  }
  const places = rows.flatMap(({ id }, place) => (known.has(id) ? [] : [place]))
  expect(places).toHaveLength(3)
  expect(Math.min(...places)).toBeLessThan(350)
})

test('by-name-slow: the sixty-first request of a minute is refused, and an hour without requests changes little', async () => {
  const { game, between } = await onAClock('by-name-slow', { customers: 150 })
  for (let request = 1; request <= 60; request += 1) expect((await game.get(1)).status).toBe(200)
  expect((await game.get(1)).status).toBe(429)
  between(3_600_000)
  await game.get(1)
  expect(game.hand.customers).toHaveLength(400)
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
