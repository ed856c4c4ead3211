import { expect, test } from 'vitest'
import { createRateLimit } from '../../src/source/rate-limit.ts'
import { recipeOf } from '../../src/signing/signing.ts'
import { faultServer, html, list, refusal, type Reply } from '../support/fault-server.ts'
import { aSource, PATIENT, rejection } from './a-source.ts'
import { virtualTime } from './virtual-time.ts'

const FIRST = { page: 1, size: 100 }

test('every attempt is signed anew, after the wait', async () => {
  await using server = await faultServer(
    refusal(429, 'throttled', 'Slow down', { 'Retry-After': 7 }),
    html(503, { 'Retry-After': 20 }),
    list(3),
  )
  const { source, slept } = aSource(server, { signing: { ...recipeOf('ts-body'), template: '{ts}{nonce}' } })
  await source.readPage(FIRST, PATIENT)
  expect(slept).toEqual([7000, 20_000])
  const stamps = server.requests.map(({ headers }) => Number(headers['x-timestamp']))
  expect(stamps.map((stamp) => stamp - (stamps[0] ?? 0))).toEqual([0, 7, 27])
  expect(new Set(server.requests.map(({ headers }) => headers['x-signature'])).size).toBe(3)
  expect(new Set(server.requests.map(({ headers }) => headers['x-nonce'])).size).toBe(3)
  expect(source.counters).toEqual({ requests: 3, throttled: 1, waitedMs: 27_000 })
})

test('a 429 in HTML is a 429, and X-RateLimit-Reset is read by the clock of the service', async () => {
  const serviceMs = Date.UTC(2030, 0, 1)
  const headers = { Date: new Date(serviceMs).toUTCString(), 'X-RateLimit-Reset': serviceMs / 1000 + 40 }
  await using server = await faultServer(html(429, headers), list(3))
  const { source, slept } = aSource(server)
  await source.readPage(FIRST, PATIENT)
  expect(slept[0]).toBeGreaterThanOrEqual(39_000)
  expect(slept[0]).toBeLessThanOrEqual(41_000)
})

test('a 429 holds back every page of the organization until its time has come', async () => {
  const time = virtualTime()
  const askedMs: number[] = []
  const record: (reply: Reply) => Reply = (reply) => (response, request) => {
    askedMs.push(time.now())
    return reply(response, request)
  }
  await using server = await faultServer(record(html(429, { 'Retry-After': 60 })), record(list(900)))
  const { source } = aSource(server, { concurrency: 1 }, time)
  const pages = [1, 2, 3, 4].map((page) => source.readPage({ page, size: 100 }, PATIENT))
  await Promise.all(pages)
  const [first = 0, ...others] = askedMs
  expect(others).toHaveLength(4)
  expect(Math.min(...others) - first).toBeGreaterThanOrEqual(60_000)
  expect(source.counters).toMatchObject({ requests: 5, throttled: 1, waitedMs: 60_000 })
})

test('organizations that share a rateLimit share its pause', async () => {
  const time = virtualTime()
  const rateLimit = createRateLimit({ concurrency: 1, ...time })
  await using throttled = await faultServer(html(429, { 'Retry-After': 60 }), list(3))
  await using other = await faultServer(list(3))
  const one = aSource(throttled, {}, { rateLimit, ...time })
  const two = aSource(other, { longestWaitMs: 30_000 }, { rateLimit, ...time })
  const [first, second] = await Promise.allSettled([
    one.source.readPage(FIRST, PATIENT),
    two.source.readPage(FIRST, PATIENT),
  ])
  expect(first.status).toBe('fulfilled')
  expect(second).toMatchObject({ reason: { name: 'RateLimited', waitMs: 60_000 } })
  expect(other.requests).toHaveLength(0)
})

test('no more requests are under way than the concurrency allows', async () => {
  const slow: Reply = (response, request) => void setImmediate(() => void list(3000)(response, request))
  await using server = await faultServer(slow)
  const { source } = aSource(server, { concurrency: 3 })
  const pages = Array.from({ length: 20 }, (_, index) => source.readPage({ page: index + 1, size: 100 }, PATIENT))
  await Promise.all(pages)
  expect(server.mostInFlight).toBeLessThanOrEqual(3)
  expect(server.requests).toHaveLength(20)
})

test('an abort ends a long wait at once with its reason', async () => {
  const controller = new AbortController()
  await using server = await faultServer(html(429, { 'Retry-After': 600 }))
  const { source } = aSource(
    server,
    {},
    { now: Date.now, sleep: undefined, onEvent: () => controller.abort(new Error('enough')) },
  )
  const pages = [1, 2].map((page) => rejection(source.readPage({ page, size: 100 }, { signal: controller.signal })))
  expect(await Promise.all(pages)).toMatchObject([{ message: 'enough' }, { message: 'enough' }])
})

test('a 429 for ever ends with the time to wait once the budget is spent', async () => {
  await using server = await faultServer(html(429, { 'Retry-After': 10 }))
  const { source, slept } = aSource(server, { maxWaitMs: 60_000 })
  expect(await rejection(source.readPage(FIRST, PATIENT))).toMatchObject({ name: 'RateLimited', waitMs: 10_000 })
  expect(slept).toEqual(Array.from({ length: 6 }, () => 10_000))
})

test('a page that answers 500 for ever is given up after five tries', async () => {
  await using server = await faultServer(html(500))
  const error = await rejection(aSource(server).source.readPage({ page: 2, size: 100 }, PATIENT))
  expect(error).toMatchObject({ name: 'SourceUnavailable', code: 'server-error', status: 500 })
  expect(server.requests).toHaveLength(5)
})

/** Delays all answers until `count` requests are open at the same time. */
function together(count: number, reply: Reply): Reply {
  const held: (() => void)[] = []
  return (response, request) => {
    held.push(() => void reply(response, request))
    if (held.length >= count) for (const release of held.splice(0)) release()
  }
}

test('after a 429 the first success lets them go side by side again', async () => {
  await using server = await faultServer(html(429, { 'Retry-After': 5 }), list(900), together(3, list(900)))
  const { source } = aSource(server, { concurrency: 3 })
  await source.readPage(FIRST, PATIENT)
  await Promise.all([2, 3, 4].map((page) => source.readPage({ page, size: 100 }, PATIENT)))
  expect(server.mostInFlight).toBe(3)
})

test('pages go one at a time once the service says that its limit is nearly used up', async () => {
  await using server = await faultServer(list(900, { headers: { 'X-RateLimit-Remaining': 1 } }))
  const { source } = aSource(server, { concurrency: 3 })
  await source.readPage(FIRST, PATIENT)
  await Promise.all([2, 3, 4, 5, 6].map((page) => source.readPage({ page, size: 100 }, PATIENT)))
  expect(server.mostInFlight).toBe(1)
})
