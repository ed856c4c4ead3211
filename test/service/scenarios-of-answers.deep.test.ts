import { expect, test } from 'vitest'
import { played } from './a-sandbox.ts'

test('growing-last-page: the end is never reached, and every page on the way is full of new customers', async () => {
  const { get } = await played('growing-last-page', { customers: 150 })
  const seen = new Set<string>()
  for (let page = 1; page <= 30; page += 1) {
    const { ids, meta } = await get(page)
    for (const id of ids) seen.add(id)
    expect(meta.last_page).toBe(page + 2)
    expect(meta.total).toBe((page + 2) * 100)
  }
  expect(seen.size).toBe(3000)
})

test('slow-drip: once, a page in the middle comes in many small pieces, and is whole in the end', async () => {
  const { get, acme } = await played('slow-drip', { dripMs: 200 })
  const { ids, headers, text } = await get(6)
  expect(ids).toEqual(acme.customers.slice(500, 600).map(({ id }) => id))
  expect(headers.get('Content-Length')).toBe(String(Buffer.byteLength(text)))
})
