import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { type ByteBudget, createByteBudget } from '../../src/source/byte-budget.ts'
import { aSource, large, PATIENT } from './a-source.ts'
import { onThisMachine } from '../support/eventually.ts'
import { bytes, cut, envelopeOf, faultServer, type Reply } from '../support/fault-server.ts'

test('pages that are larger than the budget are each read, one after the other, and never two of one organization in full at once', async () => {
  const server = await faultServer(large)
  const budget = createByteBudget(10_000)
  const sources = [aSource(server, {}, { budget }), aSource(server, {}, { budget })]
  const holding = new Set<number>()
  const reading = [1, 2, 3, 4].flatMap((page) =>
    sources.map(async ({ source }, at) => {
      const { records, release } = await source.readPage({ page, size: 50 }, PATIENT)
      expect(holding).not.toContain(at)
      holding.add(at)
      await new Promise((resolve) => setTimeout(resolve, 5))
      holding.delete(at)
      release?.()
      return records().length
    }),
  )
  expect(await Promise.all(reading)).toEqual(Array.from({ length: 8 }, () => 50))
})

test('a page that waits for room does not count as lost', async () => {
  const server = await faultServer(large)
  const budget = createByteBudget(1000)
  const requestTimeoutMs = onThisMachine(1000)
  const { source } = aSource(server, { requestTimeoutMs, maxWaitMs: 0 }, { budget })
  const first = await source.readPage({ page: 1, size: 50 }, PATIENT)
  const second = source.readPage({ page: 2, size: 50 }, PATIENT)
  await new Promise((resolve) => setTimeout(resolve, 2 * requestTimeoutMs))
  first.release?.()
  expect((await second).records()).toHaveLength(50)
})

test('an organization whose answers drip, whatever they hold of the budget, keeps no other one waiting', () => {
  const budget = createByteBudget(1000)
  const [dripping, other] = [{ bytes: 0 }, { bytes: 0 }]
  const rooms = [dripping, dripping, other, other].map((share) => budget.open(share))
  const mayGoOn = () => rooms.map((room) => room.mayGoOn)

  for (const [at, room] of rooms.entries()) room.add([400, 200, 1, 1][at] ?? 0)
  expect(mayGoOn()).toEqual([true, false, true, true])
  rooms[0]?.add(600)
  expect(mayGoOn()).toEqual([true, false, true, false])
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
  expect(hasRoom(budget)).toBe(false)
  page.release?.()
  expect(hasRoom(budget)).toBe(true)
  const empty = budget.open({ bytes: 0 })
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
  const onEvent = () => void hadRoom.push(hasRoom(budget))
  const { source } = aSource(server, {}, { budget, onEvent })
  await source.readPage({ page: 1, size: 50 }, PATIENT)
  expect(hadRoom).toEqual([true])
})

/** Whether the second page of another organization may go on. */
function hasRoom(budget: ByteBudget): boolean {
  const share = { bytes: 0 }
  const rooms = [budget.open(share), budget.open(share)]
  for (const room of rooms) room.add(1)
  const mayGoOn = rooms.every((room) => room.mayGoOn)
  for (const room of rooms) room.release()
  return mayGoOn
}
