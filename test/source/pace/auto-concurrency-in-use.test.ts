import { expect, test } from 'vitest'
import { AUTO_MOST, AUTO_START } from '../../../src/source/pace/auto-concurrency.ts'
import { createRateLimit } from '../../../src/source/pace/rate-limit.ts'
import { faultServer, html, list } from '../../support/fault-server.ts'
import { aSource, PATIENT } from '../a-source.ts'
import { virtualTime } from '../virtual-time.ts'
import { soon, readHundred, readUntil } from '../../support/auto-service.ts'

test('with auto, four requests are under way at first, and sixteen later', async () => {
  await using server = await faultServer(soon(list(900)))
  const { source } = aSource(server, { concurrency: 'auto' })
  await Promise.all(Array.from({ length: 15 }, () => source.readPage({ page: 1, size: 100 }, PATIENT)))
  expect(server.mostInFlight).toBeLessThanOrEqual(AUTO_START)
  await readUntil(source, server, AUTO_MOST)
  expect(server.mostInFlight).toBe(AUTO_MOST)
  await readHundred(source)
  expect(server.mostInFlight).toBe(AUTO_MOST)
})

test('a number stays what it is, however fast the service is', async () => {
  await using server = await faultServer(soon(list(900)))
  const { source } = aSource(server, { concurrency: 5 })
  await readHundred(source)
  expect(server.mostInFlight).toBeLessThanOrEqual(5)
  expect(source.atOnce).toBe(5)
})

test('a 429 halves it', async () => {
  const refused = { isNext: false }
  await using server = await faultServer((response, request) => {
    const reply = refused.isNext ? html(429, { 'Retry-After': 1 }) : list(900)
    refused.isNext = false
    void soon(reply)(response, request)
  })
  const { source } = aSource(server, { concurrency: 'auto' })
  await readUntil(source, server, AUTO_MOST)
  expect(source.atOnce).toBe(AUTO_MOST)
  refused.isNext = true
  await readHundred(source)
  expect(source.atOnce).toBe(AUTO_MOST / 2)
  server.mostInFlight = 0
  await readHundred(source)
  expect(server.mostInFlight).toBeLessThanOrEqual(AUTO_MOST / 2)
  expect(source.counters.throttled).toBe(1)
})

test('no more are under way than the service says it still allows', async () => {
  await using server = await faultServer(soon(list(900, { headers: { 'X-RateLimit-Remaining': 10 } })))
  const { source } = aSource(server, { concurrency: 'auto' })
  for (let time = 0; time < 2; time += 1) await readHundred(source)
  expect(server.mostInFlight).toBeLessThanOrEqual(10)
})

test('requestsPerMinute spaces the requests with auto too', async () => {
  const time = virtualTime(0)
  const rateLimit = createRateLimit({ concurrency: 'auto', requestsPerMinute: 60, ...time })
  const starts: number[] = []
  await Promise.all(
    Array.from({ length: 40 }, () =>
      rateLimit.admit(async () => {
        starts.push(time.now())
        const watch = rateLimit.watch()
        rateLimit.succeeded(undefined)
        watch.answered()
      }, PATIENT),
    ),
  )
  expect(starts.map(Math.round)).toEqual(Array.from({ length: 40 }, (_, index) => 1010 * index))
  expect(rateLimit.atOnce).toBe(AUTO_START)
})
