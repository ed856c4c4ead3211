import { expect, test } from 'vitest'
import { ContractBroken, RateLimited, SourceRefused, SourceUnavailable } from '../../src/errors/errors.ts'
import { createRateLimit } from '../../src/source/rate-limit.ts'
import { createRetry, type RetryOptions } from '../../src/source/retry.ts'
import type { SourceEvent } from '../../src/source/customers.ts'
import { PATIENT, rejection } from './a-source.ts'
import { virtualTime } from './virtual-time.ts'

function aPatience(changes: Partial<RetryOptions> = {}) {
  const time = virtualTime()
  const events: SourceEvent[] = []
  const rateLimit = changes.rateLimit ?? createRateLimit({ concurrency: 4, ...time })
  const retry = createRetry({
    rateLimit,
    attempts: 5,
    longestWaitMs: 900_000,
    maxWaitMs: 900_000,
    random: () => 1,
    onEvent: (event) => events.push(event),
    ...time,
    ...changes,
  })
  return { retry, rateLimit, events, ...time }
}

/** Throws what it is given, one a call, and then succeeds. */
function failing(...errors: Error[]) {
  const attempt = async (): Promise<string> => {
    attempt.calls += 1
    const error = errors[Math.min(attempt.calls, errors.length + 1) - 1]
    if (error !== undefined) throw error
    return 'page'
  }
  attempt.calls = 0
  return attempt
}

/** Throws the same for ever. */
function refusing(error: () => Error) {
  const attempt = async (): Promise<string> => {
    attempt.calls += 1
    throw error()
  }
  attempt.calls = 0
  return attempt
}

const limited = (waitMs?: number): RateLimited => new RateLimited('429', { waitMs })
const down = (status = 500, waitMs?: number): SourceUnavailable =>
  new SourceUnavailable(String(status), { code: 'server-error', status, waitMs })

test('a refusal is waited out for the requested time, and reported', async () => {
  const { retry, slept, events, now } = aPatience()
  const startMs = now()
  expect(await retry.ask(failing(limited(7000), down(503, 20_000)), PATIENT)).toBe('page')
  expect(slept).toEqual([7000, 20_000])
  expect(retry.waitedMs).toBe(27_000)
  expect(events).toEqual([
    { kind: 'waiting', reason: 'rate-limited', status: 429, attempt: 2, waitMs: 7000, untilMs: startMs + 7000 },
    { kind: 'waiting', reason: 'unavailable', status: 503, attempt: 3, waitMs: 20_000, untilMs: startMs + 27_000 },
  ])
})

test('a 429 and a 503 that name no wait use the budget, not the attempts, and never come within a second', async () => {
  const { retry, slept } = aPatience({ random: () => 0 })
  const errors = Array.from({ length: 12 }, (_, index) => (index % 2 === 0 ? limited() : down(503)))
  expect(await retry.ask(failing(...errors), PATIENT)).toBe('page')
  expect(slept).toEqual(errors.map(() => 1000))
})

test.each([
  new SourceRefused('401', { code: 'unauthorized', status: 401 }),
  new SourceRefused('403', { code: 'forbidden', status: 403 }),
  new SourceRefused('404', { code: 'not-found', status: 404 }),
  new SourceRefused('422', { code: 'unprocessable', status: 422 }),
  new ContractBroken('cut off', { code: 'bad-answer' }),
  new SourceUnavailable('certificate', { code: 'tls' }),
  new TypeError('a defect'),
])('%s is never asked about again', async (error) => {
  const { retry, slept } = aPatience()
  const attempt = refusing(() => error)
  expect(await rejection(retry.ask(attempt, PATIENT))).toBe(error)
  expect(attempt.calls).toBe(1)
  expect(slept).toEqual([])
})

test('where no request is left, a failure is final, and a refusal still delays the others', async () => {
  const { retry, rateLimit, slept, monotonicMs } = aPatience()
  for (const error of [down(500), limited(7000)]) {
    const attempt = refusing(() => error)
    expect(await rejection(retry.ask(attempt, { ...PATIENT, mayAskMore: () => false }))).toBe(error)
    expect(attempt.calls).toBe(1)
  }
  expect(slept).toEqual([])
  expect(rateLimit.pausedUntilMs - monotonicMs()).toBe(7000)
})

test('a wait longer than the longest allowed is thrown at once, with its length', async () => {
  const { retry, slept } = aPatience({ longestWaitMs: 30_000 })
  expect(await rejection(retry.ask(failing(limited(31_000)), PATIENT))).toMatchObject({ waitMs: 31_000 })
  expect(
    await rejection(aPatience({ longestWaitMs: 30_000 }).retry.ask(failing(down(503, 31_000)), PATIENT)),
  ).toMatchObject({ name: 'SourceUnavailable', waitMs: 31_000 })
  expect(slept).toEqual([])
  expect(await aPatience({ longestWaitMs: 30_000 }).retry.ask(failing(limited(30_000)), PATIENT)).toBe('page')
})

test('a refusal is not thrown for a longer pause that another request was asked for', async () => {
  const { retry, rateLimit, monotonicMs } = aPatience({ longestWaitMs: 30_000 })
  const attempt = refusing(() => {
    rateLimit.pauseUntil(monotonicMs() + 60_000)
    return limited(5000)
  })

  const error = await rejection(retry.ask(attempt, PATIENT))
  expect(error).toMatchObject({ name: 'RateLimited', waitMs: 60_000 })
  expect(String(error)).toContain('Not sent: the service asked for a pause')
})

test('failures that name no wait end with the budget too', async () => {
  const { retry, slept } = aPatience({ attempts: 20, maxWaitMs: 14_000 })
  expect(await rejection(retry.ask(failing(...Array.from({ length: 20 }, () => down(500))), PATIENT))).toMatchObject({
    status: 500,
  })
  expect(slept).toEqual([1000, 2000, 4000])
})

test('any success starts the budget again', async () => {
  const { retry } = aPatience({ maxWaitMs: 60_000 })
  for (let page = 0; page < 4; page += 1) {
    expect(await retry.ask(failing(limited(25_000), limited(25_000)), PATIENT)).toBe('page')
  }
  expect(retry.waitedMs).toBe(200_000)
})

test('requests that wait through the same pause count and report it once', async () => {
  const { retry, events } = aPatience()
  await Promise.all([1, 2, 3, 4].map(() => retry.ask(failing(limited(7000)), PATIENT)))
  expect(events).toHaveLength(1)
  expect(retry.waitedMs).toBe(7000)
})
