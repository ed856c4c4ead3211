import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AUTO_MOST, AUTO_START, AutoConcurrency } from '../../../src/source/pace/auto-concurrency.ts'
import { dice as diceOf, type Dice } from '../../support/dice.ts'
import { seeds } from '../../support/seeds.ts'
import { allowing, everyAnswerTakes, play, queueing, type Service } from '../simulated-service.ts'

const mean = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length
const later = (numbers: readonly number[]) => numbers.slice(Math.floor(numbers.length / 3))

/** A factor around 1, as times vary: often a little, seldom much. */
function varying(dice: Dice, spread: number): number {
  const sum = Array.from({ length: 12 }, () => dice.next()).reduce((a, b) => a + b, -6)
  return Math.exp(spread * sum)
}

test('it begins with 4, and is at 16 within fifty answers of a service that answers as fast', () => {
  fc.assert(
    fc.property(fc.integer({ min: 5, max: 2000 }), (ms) => {
      const { atOnce } = play(everyAnswerTakes(ms))
      expect(atOnce.slice(0, 8)).toEqual(Array.from({ length: 8 }, () => AUTO_START))
      expect(atOnce.slice(50)).toEqual(Array.from({ length: 950 }, () => AUTO_MOST))
    }),
    { numRuns: seeds(30) },
  )
})

test('a first load at 20 ms takes at most a tenth longer than with 16 from the beginning', () => {
  const auto = play(everyAnswerTakes(20), { pages: 1150 })
  const fixed = play(everyAnswerTakes(20), { pages: 1150, fixed: 16 })
  expect(auto.tookMs).toBeLessThan(1.1 * fixed.tookMs)
})

test('a service that works on few at once gets about as many, and is as busy as it can be', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 4, max: 12 }),
      fc.integer({ min: 15, max: 300 }),
      fc.constantFrom(0, 0.2),
      fc.integer(),
      (slots, ms, spread, seed) => {
        const dice = diceOf(seed)
        const service = () => queueing(slots, () => ms * varying(dice, spread))
        const auto = play(service())
        const all = play(service(), { fixed: AUTO_MOST })
        expect(mean(later(auto.atOnce))).toBeGreaterThan(0.8 * slots)
        expect(mean(later(auto.atOnce))).toBeLessThan(1.6 * slots + 1)
        expect(auto.tookMs).toBeLessThan(1.25 * all.tookMs)
      },
    ),
    { numRuns: seeds(60) },
  )
})

test('a service that is overloaded by four from the beginning gets hardly more', () => {
  for (const slots of [1, 2, 3]) {
    expect(Math.max(...later(play(queueing(slots, () => 20)).atOnce))).toBeLessThanOrEqual(AUTO_START + 2)
  }
})

describe('it does not take for a slower service', () => {
  test('answers that vary', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.1, max: 0.6, noNaN: true }), fc.integer(), (spread, seed) => {
        const dice = diceOf(seed)
        const { atOnce } = play(everyAnswerTakes(() => 40 * varying(dice, spread)))
        expect(mean(atOnce)).toBeGreaterThan(11)
      }),
      { numRuns: seeds(60) },
    )
  })

  test('a few that take very long', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const dice = diceOf(seed)
        const { atOnce } = play(everyAnswerTakes(() => (dice.next() < 0.05 ? 800 : 20)))
        expect(mean(atOnce)).toBeGreaterThan(12)
      }),
      { numRuns: seeds(60) },
    )
  })

  test('a process that is busy itself, all the time or every now and then', () => {
    for (const workMs of [() => 5, (page: number) => (page % 48 === 0 ? 300 : 1)]) {
      const auto = play(everyAnswerTakes(20), { workMs })
      expect(Math.min(...auto.atOnce)).toBe(AUTO_START)
      expect(auto.tookMs).toBeLessThan(1.15 * play(everyAnswerTakes(20), { workMs, fixed: AUTO_MOST }).tookMs)
    }
  })
})

test('where the service itself gets slower, half as many do not help, and it goes on with as many as before', () => {
  const { atOnce } = play(everyAnswerTakes((atMs) => (atMs > 500 ? 80 : 20)))
  expect(atOnce).toContain(AUTO_MOST / 2)
  expect(mean(later(atOnce))).toBeGreaterThan(14)
  expect(atOnce.at(-1)).toBe(AUTO_MOST)
})

test('pages that take ever longer the deeper they are do not make it slow', () => {
  let pages = 0
  const deep = () => everyAnswerTakes(() => 20 + (pages++ % 1000) / 5)
  const auto = play(deep())
  expect(auto.tookMs).toBeLessThan(1.25 * play(deep(), { fixed: AUTO_MOST }).tookMs)
})

test('where requests begin to wait for each other, it goes down', () => {
  const slots = { 12: queueing(12, () => 20), 3: queueing(3, () => 20) }
  const { atOnce } = play((atMs, underWay) => slots[atMs > 1000 ? 3 : 12](atMs, underWay))
  expect(Math.max(...atOnce)).toBeGreaterThanOrEqual(10)
  expect(mean(atOnce.slice(-200))).toBeLessThanOrEqual(6)
})

describe('refusals', () => {
  test('halve it, once for all that were under way together, and it does not go there again', () => {
    const { atOnce, refused } = play((_, underWay) =>
      underWay > 10 ? { afterMs: 5, refusedForMs: 1000 } : { afterMs: 20 },
    )
    expect(atOnce.at(-1)).toBe(8)
    expect(refused).toBeLessThanOrEqual(AUTO_MOST)
  })

  test.each([1, 1.2, 1.4, 1.6])('do not keep it at one where answers take %s times as long afterwards', (times) => {
    const isBusy = (atMs: number) => atMs > 500 && atMs < 4000
    const service: Service = (atMs) =>
      isBusy(atMs) ? { afterMs: 5, refusedForMs: 300 } : { afterMs: atMs < 4000 ? 100 : 100 * times }
    const { atOnce } = play(service, { pages: 2000 })
    expect(atOnce).toContain(1)
    expect(atOnce.at(-1)).toBe(AUTO_START)
  })

  test('end a trial of half as many: slow answers after one do not bring back the number from before', () => {
    const auto = new AutoConcurrency()
    let nowMs = 0
    const answersThatTake = (ms: number, answers: number) => {
      for (let left = answers; left > 0; left -= 1) {
        const underWay = auto.atOnce
        auto.answered({ startedMs: nowMs, endedMs: (nowMs += ms), idleMs: ms, underWay })
      }
    }
    answersThatTake(20, 16)
    expect(auto.atOnce).toBe(2 * AUTO_START)
    answersThatTake(100, 16)
    expect(auto.atOnce).toBe(AUTO_START)

    auto.refused({ startedMs: nowMs, endedMs: nowMs })
    answersThatTake(100, 20)

    expect(auto.atOnce).toBeLessThan(AUTO_START)
  })

  test('lead to one at a time where the service allows no more', () => {
    const only = (underWay: number) => (underWay > 1 ? { afterMs: 5, refusedForMs: 1000 } : { afterMs: 20 })
    const { atOnce, refused } = play((_, underWay) => only(underWay), { pages: 300 })
    expect(atOnce.at(-1)).toBeLessThanOrEqual(2)
    expect(refused).toBeLessThan(play((_, underWay) => only(underWay), { pages: 300, fixed: AUTO_START }).refused / 10)
  })

  test('are hardly more than with 4 at once, however many a minute are allowed, and fewer where there are many', () => {
    fc.assert(
      fc.property(fc.integer({ min: 30, max: 400 }), fc.integer({ min: 5, max: 200 }), (most, ms) => {
        const service = () => allowing(most, 60_000, everyAnswerTakes(ms))
        const auto = play(service(), { pages: 3000 })
        const four = play(service(), { pages: 3000, fixed: AUTO_START })
        // From 16 to 4, once.
        expect(auto.refused).toBeLessThanOrEqual(four.refused + AUTO_MOST + AUTO_MOST / 2 - AUTO_START)
        expect(auto.tookMs).toBeLessThan(1.1 * four.tookMs + 60_000)
      }),
      { numRuns: seeds(40) },
    )
  })

  test('are no longer held against the service the next night', () => {
    const auto = new AutoConcurrency()
    auto.refused({ startedMs: 0, endedMs: 20 })
    expect(auto.atOnce).toBe(2)
    answer(auto, { fromMs: 15_000, answers: 500 })
    expect(auto.atOnce).toBe(4)
    answer(auto, { fromMs: 86_400_000, answers: 500 })
    expect(auto.atOnce).toBe(8)
    answer(auto, { fromMs: 2 * 86_400_000, answers: 500 })
    expect(auto.atOnce).toBe(16)
  })

  test('are no longer held against the service after days in which quick runs ask it every quarter of an hour', () => {
    const auto = new AutoConcurrency()
    auto.refused({ startedMs: 0, endedMs: 20 })
    for (let quarter = 1; quarter < 96; quarter += 1) answer(auto, { fromMs: quarter * 900_000, answers: 40 })
    expect(auto.atOnce).toBe(4)
    for (let quarter = 96; quarter < 3 * 96; quarter += 1) answer(auto, { fromMs: quarter * 900_000, answers: 60 })
    expect(auto.atOnce).toBe(16)
  })
})

test('a service that cannot answer gets no more than 4, and no less', () => {
  const auto = new AutoConcurrency()
  const lastMs = answer(auto, { fromMs: 0, answers: 500 })
  expect(auto.atOnce).toBe(16)
  for (let time = 1; time <= 5; time += 1) {
    auto.struggled({ startedMs: lastMs + 100 * time, endedMs: lastMs + 100 * time + 20 })
  }
  expect(auto.atOnce).toBe(4)
  answer(auto, { fromMs: lastMs + 30_000, answers: 50 })
  expect(auto.atOnce).toBeGreaterThan(4)
})

test('it does not grow where turns are left unused', () => {
  const auto = new AutoConcurrency()
  for (let page = 0; page < 500; page += 1) {
    auto.answered({ startedMs: 10 * page, endedMs: 10 * page + 20, idleMs: 20, underWay: 3 })
  }
  expect(auto.atOnce).toBe(AUTO_START)
})

/** Answers as fast, with every turn used. Returns when the last one ended. */
function answer(auto: AutoConcurrency, { fromMs, answers }: { fromMs: number; answers: number }): number {
  for (let page = 0; page < answers; page += 1) {
    const startedMs = fromMs + 20 * page
    auto.answered({ startedMs, endedMs: startedMs + 20, idleMs: 20, underWay: auto.atOnce })
  }
  return fromMs + 20 * answers
}
