import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { sharedTurnsIn } from '../../../jobs/queue/shared-turns.ts'
import { RateLimited } from '../../../src/errors/errors.ts'
import type { Sleep } from '../../../src/machine/timers.ts'
import { rateLimiter, type ServiceLimit } from '../../../src/service/app.ts'
import { RateLimit } from '../../../src/source/rate-limit.ts'
import { Retry } from '../../../src/source/retry.ts'
import { dice } from '../../support/dice.ts'

const PATIENT = new AbortController().signal

describe('three workers with two organizations each under one limit of 120 a minute', () => {
  const counted: [string, ServiceLimit['window'], number | undefined][] = [
    ['fixed windows', 'fixed', 120],
    ['a sliding window', 'sliding', 120],
    ['fixed windows, and no number is configured', 'fixed', undefined],
    ['a sliding window, and no number is configured', 'sliding', undefined],
  ]
  test.each(counted)(
    'use nine tenths of it and more, and two in a hundred are refused at most: %s',
    async (_, window, requestsPerMinute) => {
      const world = aWorld({ requests: 120, windowMs: 60_000, window })
      await world.play({ workers: 3, organizations: 2, requestsPerMinute, forMs: 179_000 })

      expect(world.answered.length / (120 * 3)).toBeGreaterThanOrEqual(0.9)
      expect(world.refused / (world.answered.length + world.refused)).toBeLessThanOrEqual(0.02)
    },
  )

  test('one worker alone has the whole limit', async () => {
    const world = aWorld({ requests: 120, windowMs: 60_000 })
    await world.play({ workers: 1, organizations: 1, requestsPerMinute: 120, forMs: 120_000 })

    expect(world.answered.length).toBeGreaterThanOrEqual(236)
    expect(world.refused).toBe(0)
  })
})

describe('while the database is away', () => {
  test('each worker takes its share of the limit, and it is said once', async () => {
    const world = aWorld({ requests: 120, windowMs: 60_000 })
    await world.play({ workers: 3, organizations: 2, requestsPerMinute: 120, forMs: 10_000 })
    const before = world.answered.length
    world.values.isAway = true
    await world.play({ forMs: 60_000 })
    const away = world.answered.length - before
    world.values.isAway = false
    await world.play({ forMs: 10_000 })

    expect(away).toBeGreaterThan(105)
    expect(away).toBeLessThan(125)
    const said = world.events.map(([, words = '']) => /away|back/.exec(words)?.[0])
    expect(said).toEqual(['away', 'away', 'away', 'back', 'back', 'back'])
    expect(world.events[0]?.[0]).toMatchObject({ limit: 'vendor', workers: 3 })
  })

  test('a pause is passed on when it is back', async () => {
    const { clock, values, openTurns } = aWorld({ requests: 120, windowMs: 60_000 })
    const one = openTurns(120)
    const two = openTurns(120)
    await clock.play(one.next(PATIENT))
    values.isAway = true
    await clock.play(one.next(PATIENT))
    one.pauseUntil(clock.now() + 60_000)
    values.isAway = false
    await clock.play(clock.sleep(2500, PATIENT))
    await clock.play(one.next(PATIENT))
    await clock.play(clock.sleep(100, PATIENT))
    const { pausedUntilMs } = await clock.play(two.next(PATIENT))

    expect(pausedUntilMs).toBeGreaterThan(clock.now() + 50_000)
  })
})

/** A service with a limit, the database of the limit, and workers whose clocks differ by hours. */
function aWorld(limit: ServiceLimit) {
  const clock = eventClock()
  const random = dice(7)
  const values = valuesHere(clock.now)
  const take = rateLimiter(limit)
  const events: [facts: unknown, said?: string][] = []
  const note = (...line: [facts: unknown, said?: string]) => void events.push(line)
  const answered: number[] = []
  let workersSoFar = 0
  const parts: { ask: () => Promise<void> }[] = []

  async function request(rateLimit: RateLimit): Promise<void> {
    await clock.sleep(5 + random.next() * 35, PATIENT)
    const { allowed, remaining, retryAfterSeconds } = take(clock.now())
    if (!allowed) world.refused += 1
    await clock.sleep(30, PATIENT)
    if (!allowed) throw new RateLimited('slow down', { waitMs: retryAfterSeconds * 1000 })
    rateLimit.succeeded(remaining)
    answered.push(clock.now())
  }

  function openTurns(requestsPerMinute: number | undefined, aheadMs = 0) {
    const open = sharedTurnsIn({
      ...{ values, workers: () => Math.max(1, workersSoFar), monotonicMs: () => clock.now() + aheadMs },
      ...{ sleep: clock.sleep, log: { info: note, warn: note } },
    })
    return open('vendor', requestsPerMinute)
  }

  function aWorker(index: number, requestsPerMinute: number | undefined) {
    const { now, sleep } = clock
    const aheadMs = index * 3_600_000
    const monotonicMs = () => now() + aheadMs
    const shared = openTurns(requestsPerMinute, aheadMs)
    const rateLimit = new RateLimit({ concurrency: 8, shared, monotonicMs, sleep })
    const budgets = { longestWaitMs: 1e9, maxWaitMs: 1e9 }
    return () => {
      const retry = new Retry({ ...budgets, rateLimit, monotonicMs, now, random: () => random.next(), sleep })
      return { ask: () => retry.ask(() => request(rateLimit), { signal: PATIENT }) }
    }
  }

  /** Every organization reads with four requests at a time. */
  async function play({
    workers = 0,
    organizations = 0,
    requestsPerMinute,
    forMs,
  }: {
    workers?: number
    organizations?: number
    requestsPerMinute?: number | undefined
    forMs: number
  }): Promise<void> {
    const endMs = clock.now() + forMs
    for (let worker = 0; worker < workers; worker += 1) {
      const open = aWorker(worker, requestsPerMinute)
      workersSoFar += 1
      for (let organization = 0; organization < organizations; organization += 1) parts.push(open())
    }
    const read = async (ask: () => Promise<void>) => {
      while (clock.now() < endMs) await ask()
    }
    const reading = parts.flatMap(({ ask }) => Array.from({ length: 4 }, () => read(ask)))
    await clock.play(Promise.race([clock.sleep(forMs, PATIENT), Promise.all(reading)]))
  }

  const world = { clock, values, events, answered, refused: 0, openTurns, play }
  return world
}

type EventClock = {
  now: () => number
  sleep: Sleep
  /** Advances the clock from one sleeper to the next until `work` ends, and returns its result. */
  play<Result>(work: Promise<Result>): Promise<Result>
}

/** A clock for many that sleep at the same time: when nothing more can happen now, it goes on to the first that wakes. */
function eventClock(): EventClock {
  let nowMs = 0
  let sleepers: { atMs: number; wake: () => void }[] = []

  async function sleep(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const { promise, resolve } = Promise.withResolvers<void>()
    const sleeper = { atMs: nowMs + ms, wake: resolve }
    const end = () => {
      sleepers = sleepers.filter((other) => other !== sleeper)
      resolve()
    }
    sleepers.push(sleeper)
    signal.addEventListener('abort', end)
    await promise
    signal.removeEventListener('abort', end)
    signal.throwIfAborted()
  }

  async function play<Result>(work: Promise<Result>): Promise<Result> {
    const ended = new AbortController()
    const end = () => ended.abort()
    work.then(end, end)
    for (;;) {
      for (let turns = 0; turns < 3; turns += 1) await nextTurn()
      if (ended.signal.aborted) return work
      const atMs = Math.min(...sleepers.map((sleeper) => sleeper.atMs))
      if (atMs === Infinity) throw new Error('No sleeper is left, and the work has not ended.')
      nowMs = Math.max(nowMs, atMs)
      const awake = sleepers.filter((sleeper) => sleeper.atMs <= nowMs)
      sleepers = sleepers.filter((sleeper) => sleeper.atMs > nowMs)
      for (const { wake } of awake) wake()
    }
  }

  return { now: () => nowMs, sleep, play }
}

/** Values as a database keeps them, in this process, and its clock. */
function valuesHere(nowMs: () => number) {
  const kept = new Map<string, string>()
  const database = { isAway: false }
  const answer = async <Answer>(give: () => Answer): Promise<Answer> => {
    if (database.isAway) throw new Error('the database is away')
    return give()
  }
  return Object.assign(database, {
    read: (name: string) => answer(() => kept.get(name)),
    replace: (name: string, before: string | undefined, value: string) =>
      answer(() => kept.get(name) === before && kept.set(name, value).has(name)),
    nowMs: () => answer(nowMs),
  })
}
