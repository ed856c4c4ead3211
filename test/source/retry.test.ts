import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { recipeOf } from '../../src/signing/signing.ts'
import { RateLimit } from '../../src/source/rate-limit.ts'
import { remainingIn, retryAfterMs } from '../../src/source/retry-after.ts'
import { aSource, FIRST, PATIENT, readFrom, rejection, virtualTime } from './a-source.ts'
import { faultServer, html, list, refusal, type Reply } from '../support/fault-server.ts'
import type { Sleep } from '../../src/machine/timers.ts'

const waiting = (status: number, seconds: number) => html(status, { 'Retry-After': seconds })

test('a 429 and a 503 that name no wait use the budget, not the attempts, and never come within a second', async () => {
  const refusals = Array.from({ length: 12 }, (_, index) => html(index % 2 === 0 ? 429 : 503))
  const { page, slept } = await readFrom([html(429), ...refusals, list(3)], { options: { random: () => 0 } })
  expect(page?.records()).toHaveLength(3)
  expect(slept).toEqual(Array(13).fill(1000))
})

test('where no request is left, a failure is final, and a refusal still delays the others', async () => {
  const server = await faultServer(html(500), waiting(429, 7), list(3), html(500))
  const { source, slept } = aSource(server)
  const once = { ...PATIENT, mayAskMore: () => false }
  const last = () => rejection(source.readPage(FIRST, once))
  expect([await last(), slept]).toEqual([expect.objectContaining({ status: 500 }), []])
  expect([await last(), slept]).toEqual([expect.objectContaining({ waitMs: 7000 }), []])
  await source.readPage(FIRST, PATIENT)
  await rejection(source.search('ada', { size: 1, ...once }))
  expect([slept, server.requests.length]).toEqual([[7000], 4])
})

test('a wait as long as the longest allowed is waited, and any success starts the budget again', async () => {
  const [refused, page] = [waiting(429, 25), list(3)]
  const server = await faultServer(refused, page, waiting(503, 25), page, refused, page, refused, waiting(429, 6), page)
  const { source } = aSource(server, { maxWaitMs: 30_000, longestWaitMs: 25_000 })
  for (let read = 0; read < 3; read += 1) await source.readPage(FIRST, PATIENT)
  expect(source.counters.waitedMs).toBe(75_000)
  expect(await rejection(source.readPage(FIRST, PATIENT))).toMatchObject({ name: 'RateLimited', waitMs: 6000 })
})

test('a refusal is waited out for the requested time, and reported; every attempt is signed anew, after the wait', async () => {
  const throttled = refusal(429, 'throttled', 'Slow down', { 'Retry-After': 7 })
  const server = await faultServer(throttled, waiting(503, 20), list(3))
  const signing = { ...recipeOf('ts-body'), template: '{ts}{nonce}' }
  const { source, slept, events, now } = aSource(server, { signing })
  const startMs = now()
  await source.readPage(FIRST, PATIENT)
  expect(slept).toEqual([7000, 20_000])
  expect(events).toEqual([
    { kind: 'waiting', reason: 'rate-limited', status: 429, attempt: 2, waitMs: 7000, untilMs: startMs + 7000 },
    { kind: 'waiting', reason: 'unavailable', status: 503, attempt: 3, waitMs: 20_000, untilMs: startMs + 27_000 },
  ])
  const stamps = server.requests.map(({ headers }) => Number(headers['x-timestamp']))
  expect(stamps.map((stamp) => stamp - (stamps[0] ?? 0))).toEqual([0, 7, 27])
  expect(new Set(server.requests.map(({ headers }) => headers['x-signature'])).size).toBe(3)
  expect(new Set(server.requests.map(({ headers }) => headers['x-nonce'])).size).toBe(3)
  expect(source.counters).toEqual({ requests: 3, throttled: 1, waitedMs: 27_000 })
})

test('a 429 in HTML is a 429, and X-RateLimit-Reset is read by the clock of the service', async () => {
  const serviceMs = Date.UTC(2030, 0, 1)
  const headers = { Date: new Date(serviceMs).toUTCString(), 'X-RateLimit-Reset': serviceMs / 1000 + 40 }
  const server = await faultServer(html(429, headers), list(3))
  const { source, slept } = aSource(server)
  await source.readPage(FIRST, PATIENT)
  expect(Math.abs((slept[0] ?? 0) - 40_000)).toBeLessThanOrEqual(1000)
})

test('a 429 holds back every page of the organization until its time has come, which counts and is reported once', async () => {
  const time = virtualTime()
  const askedMs: number[] = []
  const record: (reply: Reply) => Reply = (reply) => (response, request) => {
    askedMs.push(time.now())
    return reply(response, request)
  }
  const server = await faultServer(record(html(429, { 'Retry-After': 60 })), record(list(900)))
  const { source, events } = aSource(server, { concurrency: 1 }, time)
  await Promise.all([1, 2, 3, 4].map((page) => source.readPage({ page, size: 100 }, PATIENT)))
  const [first = 0, ...others] = askedMs
  expect(others).toHaveLength(4)
  expect(Math.min(...others) - first).toBeGreaterThanOrEqual(60_000)
  expect(source.counters).toMatchObject({ requests: 5, throttled: 1, waitedMs: 60_000 })
  expect(events).toHaveLength(1)
})

test('organizations that share a rateLimit share its pause', async () => {
  const time = virtualTime()
  const rateLimit = new RateLimit({ concurrency: 1, ...time })
  const throttled = await faultServer(html(429, { 'Retry-After': 60 }), list(3))
  const other = await faultServer(list(3))
  const one = aSource(throttled, {}, { rateLimit, ...time })
  const two = aSource(other, { longestWaitMs: 30_000 }, { rateLimit, ...time })
  const reading = [one, two].map(({ source }) => source.readPage(FIRST, PATIENT))
  const [first, second] = await Promise.allSettled(reading)
  expect(first?.status).toBe('fulfilled')
  const message = expect.stringContaining('Not sent: the service asked for a pause')
  expect(second).toMatchObject({ reason: { name: 'RateLimited', waitMs: 60_000, message } })
  expect(other.requests).toHaveLength(0)
})

test('an abort ends a long wait at once with its reason', async () => {
  const controller = new AbortController()
  const server = await faultServer(html(429, { 'Retry-After': 600 }))
  const onEvent = () => controller.abort(new Error('enough'))
  const { source } = aSource(server, {}, { now: Date.now, sleep: undefined, onEvent })
  const pages = [1, 2].map((page) => rejection(source.readPage({ page, size: 100 }, { signal: controller.signal })))
  expect(await Promise.all(pages)).toMatchObject([{ message: 'enough' }, { message: 'enough' }])
})

test('pages go one at a time once the service says that its limit is nearly used up, and together once it has room', async () => {
  const server = await faultServer(async (...answering) => {
    const { length } = server.requests
    // Others that may come do so meanwhile.
    if (length <= 6) await delay(20)
    else await expect.poll(() => server.mostInFlight).toBe(3)
    return list(900, { headers: { 'X-RateLimit-Remaining': length < 6 ? 1 : 50 } })(...answering)
  })
  const { source } = aSource(server, { concurrency: 3 })
  const read = (...pages: number[]) => Promise.all(pages.map((page) => source.readPage({ page, size: 100 }, PATIENT)))
  await read(1)
  await read(2, 3, 4, 5, 6)
  expect(server.mostInFlight).toBe(1)
  await read(7, 8, 9)
})

const NOW_MS = Date.UTC(2024, 0, 1, 12, 0, 0)

test.each<[what: string, headers: Record<string, string>, waitMs: number | undefined]>([
  ['seconds', { 'retry-after': '7' }, 7000],
  ['zero', { 'retry-after': '0' }, 1000],
  ['spaces around it', { 'retry-after': ' 7 ' }, 7000],
  ['an HTTP date', { 'retry-after': 'Mon, 01 Jan 2024 12:01:30 GMT' }, 90_000],
  ['a Unix second by mistake', { 'retry-after': String(NOW_MS / 1000 + 20) }, 20_000],
  ['the first number that is a Unix second', { 'retry-after': '1000000000' }, 1000],
  ['a month', { 'retry-after': String(31 * 86_400) }, 31 * 86_400_000],
  ['a month and more', { 'retry-after': String(40 * 86_400) }, undefined],
  ['a number without end', { 'retry-after': '9'.repeat(400) }, undefined],
  ['nonsense, also such as Date.parse would take', { 'retry-after': 'soon 1' }, undefined],
  ['a reset at a Unix second', { 'x-ratelimit-reset': String(NOW_MS / 1000 + 30) }, 30_000],
  ['a reset at a Unix millisecond', { 'x-ratelimit-reset': String(NOW_MS + 30_000) }, 30_000],
  ['a reset in seconds from now', { 'x-ratelimit-reset': '45' }, 45_000],
  ['Retry-After before a reset', { 'retry-after': '5', 'x-ratelimit-reset': '50' }, 5000],
  ['a reset before nonsense', { 'retry-after': 'soon', 'x-ratelimit-reset': '50' }, 50_000],
])('the wait that a refusal asks for is read: %s', (_, headers, waitMs) => {
  expect(retryAfterMs(headers, NOW_MS)).toBe(waitMs)
})

test('X-RateLimit-Remaining is a small number, or none', () => {
  const remaining = ['7', '-1', '1234567890', undefined].map((value) => remainingIn({ 'x-ratelimit-remaining': value }))
  expect(remaining).toEqual([7, undefined, undefined, undefined])
})

/** When requests start that all come at once, where the first one that waits sleeps so much longer than it asked for. */
async function startsOf(count: number, oversleptMs = 0): Promise<number[]> {
  const time = virtualTime(0)
  let lateMs = oversleptMs
  const sleep: Sleep = async (ms, signal) => {
    const sleptMs = ms + lateMs
    lateMs = 0
    await time.sleep(sleptMs, signal)
  }
  const rateLimit = new RateLimit({ concurrency: 16, requestsPerMinute: 60, ...time, sleep })
  const starts: number[] = []
  await Promise.all(Array.from({ length: count }, () => rateLimit.admit(async () => starts.push(time.now()), PATIENT)))
  return starts
}

test('starts are spread evenly over the minute: a process that was frozen makes up for none, and one that was busy keeps the pace', async () => {
  expect(await startsOf(5)).toEqual([0, 1010, 2020, 3030, 4040])
  expect(await startsOf(6, 30_000)).toEqual([0, 31_010, 32_020, 33_030, 34_040, 35_050])
  expect(await startsOf(4, 200)).toEqual([0, 1210, 2020, 3030])
})

test.each(['signal', 'stop'] as const)('a task whose %s ends its wait is not run and frees its place', async (how) => {
  const rateLimit = new RateLimit({ concurrency: 1, ...virtualTime() })
  const held = Promise.withResolvers<void>()
  const first = rateLimit.admit(() => held.promise, PATIENT)
  const ending = new AbortController()
  let hasRun = false
  const ended = rateLimit.admit(async () => void (hasRun = true), { ...PATIENT, [how]: ending.signal })
  const kept = rateLimit.admit(async () => 'next', PATIENT)
  ending.abort(new Error('enough'))
  await expect(ended).rejects.toThrow('enough')
  held.resolve()
  await first
  expect(await kept).toBe('next')
  expect(hasRun).toBe(false)
})
