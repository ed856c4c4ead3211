import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { createByteBudget } from '../../src/source/byte-budget.ts'
import { aSource, large, PATIENT } from './a-source.ts'
import { bytes, cut, envelopeOf, faultServer, type Reply } from '../support/fault-server.ts'

test('pages that are larger than the budget are each read, one after the other, and never two in full at once', async () => {
  const server = await faultServer(large)
  const budget = createByteBudget(10_000)
  const sources = [aSource(server, {}, { budget }), aSource(server, {}, { budget })]
  let [held, most] = [0, 0]
  const reading = [1, 2, 3, 4].flatMap((page) =>
    sources.map(async ({ source }) => {
      const { records, release } = await source.readPage({ page, size: 50 }, PATIENT)
      held += 1
      most = Math.max(most, held)
      await new Promise((resolve) => setTimeout(resolve, 5))
      held -= 1
      release?.()
      return records().length
    }),
  )
  expect(await Promise.all(reading)).toEqual(Array.from({ length: 8 }, () => 50))
  expect(most).toBe(1)
})

test('a page that could not be read, a search, and a compressed page leave nothing behind', async () => {
  const compressed: Reply = (response, request) =>
    bytes(200, gzipSync(JSON.stringify(envelopeOf(500, request))), { 'Content-Encoding': 'gzip' })(response, request)
  const server = await faultServer(bytes(200, 'x'.repeat(5000)), compressed)
  const budget = createByteBudget(1000)
  const { source } = aSource(server, {}, { budget })
  await expect(source.readPage({ page: 1, size: 50 }, PATIENT)).rejects.toMatchObject({ code: 'bad-answer' })
  await source.search('text', { ...PATIENT, size: 100 })
  const page = await source.readPage({ page: 1, size: 50 }, PATIENT)
  const probe = budget.open()
  probe.add(1)
  expect(probe.mayGoOn).toBe(false)
  page.release?.()
  expect(probe.mayGoOn).toBe(true)
  const empty = budget.open()
  empty.add(999)
  expect(empty.mayGoOn).toBe(true)
})

test.each([
  ['the body of an error', bytes(503, 'x'.repeat(5000), { 'Retry-After': 5 })],
  ['a page that broke off', cut('x'.repeat(50_000))],
])('%s takes no room while its request waits to be sent again', async (_, reply) => {
  const server = await faultServer(reply, large)
  const budget = createByteBudget(1000)
  const hadRoom: boolean[] = []
  const onEvent = () => {
    const other = budget.open()
    other.add(1)
    hadRoom.push(other.mayGoOn)
    other.release()
  }
  const { source } = aSource(server, {}, { budget, onEvent })
  await source.readPage({ page: 1, size: 50 }, PATIENT)
  expect(hadRoom).toEqual([true])
})
