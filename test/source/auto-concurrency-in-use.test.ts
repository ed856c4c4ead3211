import { expect, test } from 'vitest'
import { AUTO_MOST, AUTO_START } from '../../src/source/auto-concurrency.ts'
import type { Source } from '../../src/source/customers.ts'
import { createRateLimit } from '../../src/source/rate-limit.ts'
import { faultServer, html, list, type FaultServer, type Reply } from '../support/fault-server.ts'
import { aMirror, rowsOf } from '../support/mirror-file.ts'
import { syncSandbox } from '../support/mirrored-sandbox.ts'
import { aSandbox } from '../support/workplace.ts'
import { aSource, PATIENT } from './a-source.ts'
import { virtualTime } from './virtual-time.ts'

const soon = (reply: Reply): Reply => {
  return (response, request) => void setTimeout(() => void reply(response, request), 1)
}

/** Reads a hundred pages, all asked for together. */
async function readHundred(source: Source): Promise<void> {
  const windows = Array.from({ length: 100 }, (_, index) => ({ page: 1 + (index % 9), size: 100 }))
  await Promise.all(windows.map((window) => source.readPage(window, PATIENT)))
}

/** Reads on until so many requests were under way together, which takes longer on a busy machine. */
async function readUntil(source: Source, server: FaultServer, inFlight: number): Promise<void> {
  for (let time = 0; time < 50 && server.mostInFlight < inFlight; time += 1) await readHundred(source)
}

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

test('a service that cannot answer gets four at once again', async () => {
  const failing = { left: 0 }
  await using server = await faultServer((response, request) => {
    const reply = failing.left > 0 ? html(500) : list(900)
    failing.left -= 1
    void soon(reply)(response, request)
  })
  const { source } = aSource(server, { concurrency: 'auto' })
  await readUntil(source, server, AUTO_MOST)
  for (let time = 0; time < 4; time += 1) {
    failing.left = 1
    await readHundred(source)
  }
  expect(source.atOnce).toBe(AUTO_START)
})

test('no more are under way than the service says it still allows', async () => {
  await using server = await faultServer(soon(list(900, { headers: { 'X-RateLimit-Remaining': 10 } })))
  const { source } = aSource(server, { concurrency: 'auto' })
  for (let time = 0; time < 2; time += 1) await readHundred(source)
  expect(server.mostInFlight).toBeLessThanOrEqual(10)
})

test('a service that allows few in a window, and says how many are left, refuses one a window', async () => {
  const time = virtualTime(0)
  let [used, refused, endMs] = [0, 0, 0]
  await using server = await faultServer((response, request) => {
    if (time.now() >= endMs) [used, endMs] = [0, time.now() + 10_000]
    used += 1
    if (used > 12) refused += 1
    const reply =
      used > 12
        ? html(429, { 'Retry-After': 10, 'X-RateLimit-Remaining': 0 })
        : list(900, { headers: { 'X-RateLimit-Remaining': 12 - used } })
    void soon(reply)(response, request)
  })
  const { source } = aSource(server, { concurrency: 'auto' }, time)
  await readHundred(source)
  // The one that finds out that the window is used up.
  expect(refused).toBeLessThanOrEqual(Math.ceil(100 / 12))
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

test('a run with auto makes the same requests, and the same mirror, as one with four at once', async () => {
  const sandbox = await aSandbox({ customers: 1500 })
  const four = await aMirror()
  const auto = await aMirror()
  const customers = (file: string) => rowsOf(file, 'SELECT id, name, email FROM customers ORDER BY id')
  for (const night of [1, 2]) {
    const expected = await syncSandbox(sandbox, four, { concurrency: 4 })
    const { report } = await syncSandbox(sandbox, auto, { concurrency: 'auto' })
    expect(report, `night ${night}`).toMatchObject({ proof: 'proven', requests: expected.report.requests })
    expect(customers(auto.file)).toEqual(customers(four.file))
  }
})
