import { expect, onTestFinished, test, vi } from 'vitest'
import { sharedTurnsIn } from '../../../jobs/queue/shared-turns.ts'
import { RateLimited } from '../../../src/errors/errors.ts'
import type { Sleep } from '../../../src/machine/timers.ts'
import { rateLimiter, type ServiceLimit } from '../../../src/service/app.ts'
import { RateLimit } from '../../../src/source/rate-limit.ts'
import { Retry } from '../../../src/source/retry.ts'
import { dice } from '../../support/dice.ts'

const PATIENT = new AbortController().signal

/** By the timers of the test. */
const sleep: Sleep = (ms) => new Promise((resolve) => void setTimeout(resolve, ms))

const LIMIT: ServiceLimit = { requests: 120, windowMs: 60_000 }

/** Counts in a window that looks back from each request: no window holds more than the limit. */
const inSlidingWindow: typeof rateLimiter = ({ requests: limit, windowMs }) => {
  let passed: number[] = []
  return (nowMs) => {
    passed = passed.filter((atMs) => atMs > nowMs - windowMs)
    const allowed = passed.length < limit
    if (allowed) passed.push(nowMs)
    const endMs = (passed[0] ?? nowMs) + windowMs
    const retryAfterSeconds = Math.ceil((endMs - nowMs) / 1000)
    const resetUnixSeconds = Math.ceil(endMs / 1000)
    return { allowed, limit, remaining: limit - passed.length, retryAfterSeconds, resetUnixSeconds }
  }
}

test.each<[workers: number, how: string, limiter: typeof rateLimiter]>([
  [1, 'fixed windows', rateLimiter],
  [3, 'fixed windows', rateLimiter],
  [3, 'a sliding window', inSlidingWindow],
])('workers use nine tenths of a shared limit, and few are refused: %i, with %s', async (workers, _how, limiter) => {
  const world = aWorld(LIMIT, workers, limiter)
  await world.play(179_000)

  expect(world.answered / (120 * 3)).toBeGreaterThanOrEqual(0.9)
  expect(world.refused / (world.answered + world.refused)).toBeLessThanOrEqual(0.02)
})

test('while the database is away, each worker takes its share of the limit, and it is said once', async () => {
  const world = aWorld(LIMIT, 3)
  await world.play(10_000)
  const before = world.answered
  world.values.isAway = true
  await world.play(60_000)
  const away = world.answered - before
  world.values.isAway = false
  await world.play(10_000)

  expect(away).toBeGreaterThan(105)
  expect(away).toBeLessThan(125)
  const said = world.lines.map(([, words = '']) => /away|back/.exec(words)?.[0])
  expect(said).toEqual(['away', 'away', 'away', 'back', 'back', 'back'])
  expect(world.lines[0]?.[0]).toMatchObject({ limit: 'vendor', workers: 3 })
})

test('a database that answers slowly gives turns all the same', async () => {
  const { values, openTurns } = aWorld(LIMIT, 1)
  values.answersAfterMs = 700
  const taken = openTurns(0).next(PATIENT)
  await vi.advanceTimersByTimeAsync(2000)

  expect(await Promise.race([taken, Promise.resolve()])).toBeDefined()
})

/** A service with a limit, the database of the limit, and workers with two organizations each, whose clocks differ by hours. */
function aWorld(limit: ServiceLimit, workers: number, limiter = rateLimiter) {
  vi.useFakeTimers({ now: 0 })
  onTestFinished(() => void vi.useRealTimers())
  const random = dice(7)
  const values = valuesHere()
  const take = limiter(limit)
  const lines: [facts: unknown, said?: string][] = []
  const note = (...line: [facts: unknown, said?: string]) => void lines.push(line)

  function openTurns(aheadMs: number) {
    const clocks = { monotonicMs: () => Date.now() + aheadMs, sleep }
    const log = { info: note, warn: note }
    return sharedTurnsIn({ values, workers: () => workers, ...clocks, log })('vendor', limit.requests)
  }

  async function request(rateLimit: RateLimit): Promise<void> {
    await sleep(5 + random.next() * 35, PATIENT)
    const { allowed, remaining, retryAfterSeconds } = take(Date.now())
    if (!allowed) world.refused += 1
    await sleep(30, PATIENT)
    if (!allowed)
      throw new RateLimited('slow down', { code: 'rate-limited', status: 429, waitMs: retryAfterSeconds * 1000 })
    rateLimit.succeeded(remaining)
    world.answered += 1
  }

  const organizations = Array.from({ length: workers }, (_, worker) => {
    const aheadMs = worker * 3_600_000
    const clocks = { monotonicMs: () => Date.now() + aheadMs, sleep }
    const rateLimit = new RateLimit({ concurrency: 8, shared: openTurns(aheadMs), ...clocks })
    const waits = { longestWaitMs: 1e9, maxWaitMs: 1e9, now: Date.now, random: () => random.next() }
    return [1, 2].map(() => {
      const retry = new Retry({ ...waits, rateLimit, ...clocks })
      return () => retry.ask(() => request(rateLimit), { signal: PATIENT })
    })
  }).flat()

  /** Every organization reads with four requests at a time. */
  async function play(forMs: number): Promise<void> {
    const endMs = Date.now() + forMs
    const read = async (ask: () => Promise<void>) => {
      while (Date.now() < endMs) await ask()
    }
    for (const ask of organizations) for (let times = 0; times < 4; times += 1) void read(ask)
    await vi.advanceTimersByTimeAsync(forMs)
  }

  const world = { values, lines, answered: 0, refused: 0, openTurns, play }
  return world
}

/** Turns as a database gives them, in this process, by its clock. */
function valuesHere() {
  let [nextMs, pausedUntilMs] = [0, 0]
  const database = { isAway: false, answersAfterMs: 0 }
  const takeTurn = async (_limit: string, spacingMs: number, pauseMs: number) => {
    if (database.isAway) throw new Error('the database is away')
    if (database.answersAfterMs > 0) await sleep(database.answersAfterMs / 2, PATIENT)
    const turnMs = Math.max(Date.now(), nextMs)
    if (pauseMs > 0) pausedUntilMs = Math.max(pausedUntilMs, Date.now() + pauseMs)
    nextMs = turnMs + (pausedUntilMs > Date.now() ? 0 : spacingMs)
    const taken = { turnInMs: turnMs - Date.now(), pausedMs: Math.max(0, pausedUntilMs - Date.now()) }
    if (database.answersAfterMs > 0) await sleep(database.answersAfterMs / 2, PATIENT)
    return JSON.stringify(taken)
  }
  return Object.assign(database, { takeTurn })
}
