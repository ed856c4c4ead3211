import { expect, test } from 'vitest'
import { claimed, isToOpen, mayTry, opened, parseDelivery } from '../../../jobs/notify/delivery.ts'

const open = opened({ dueMs: 1000, nowMs: 1500, id: 'x' })

test('what is kept comes back, and what a later version or a person wrote is left alone', () => {
  expect(parseDelivery(JSON.stringify(open))).toEqual(open)
  expect(parseDelivery(undefined)).toBeUndefined()
  expect(['', '{', '{"version":2}', '[]'].map(parseDelivery)).toEqual(Array(4).fill('unknown'))
})

test('the next night is opened once the one before is done with', () => {
  expect(isToOpen(undefined, { dueMs: 1000, nowMs: 1500 })).toBe(true)
  expect(isToOpen(open, { dueMs: 2000, nowMs: 2500 })).toBe(false)
  expect(isToOpen({ ...open, isDone: true }, { dueMs: 1000, nowMs: 1500 })).toBe(false)
  expect(isToOpen({ ...open, isDone: true }, { dueMs: 2000, nowMs: 2500 })).toBe(true)
})

test('a night that lies far ahead was seen by a wrong clock, and is opened anew', () => {
  expect(isToOpen({ ...open, dueMs: 9_000_000 }, { dueMs: 1000, nowMs: 1500 })).toBe(true)
})

test('a night that is done with is not reported again after nights of a clock that was ahead, and those are once they come', () => {
  const YEAR_MS = 365 * 86_400_000
  const done = (before: typeof open) => ({ ...before, isDone: true })
  const ahead = done(opened({ dueMs: YEAR_MS, nowMs: YEAR_MS, id: 'y', before: done(open) }))
  const furtherAhead = done(opened({ dueMs: 2 * YEAR_MS, nowMs: 2 * YEAR_MS, id: 'z', before: ahead }))
  const setBack = opened({ dueMs: 1000, nowMs: 5000, id: 'w', before: furtherAhead })

  expect(setBack).toMatchObject({ dueMs: 1000, isDone: true })
  expect(opened({ dueMs: YEAR_MS, nowMs: YEAR_MS, id: 'v', before: setBack })).toMatchObject({ isDone: false })
  expect(opened({ dueMs: 1000, nowMs: 5000, id: 'w', before: { ...furtherAhead, doneMs: [] } }).isDone).toBe(false)
})

test('of nights that are done with, the last ten are kept', () => {
  let kept = open
  for (let night = 2; night <= 30; night += 1)
    kept = opened({ dueMs: night * 1000, nowMs: night * 1000, id: 'x', before: { ...kept, isDone: true } })

  expect(kept.doneMs).toEqual(Array.from({ length: 10 }, (_, index) => (20 + index) * 1000))
})

test('a worker whose clock is behind opens no night again that came before', () => {
  const behind = { dueMs: 1000, nowMs: 8500 }

  expect(isToOpen({ ...open, dueMs: 9000 }, behind)).toBe(false)
  expect(isToOpen({ ...open, dueMs: 9000, isDone: true }, behind)).toBe(false)
})

test('attempts have pauses between them that grow, and a clock set back stretches none', () => {
  const first = claimed(open, { nowMs: 2000, random: 0.5, leastPauseMs: 100 })
  const second = claimed(first, { nowMs: 3000, random: 0.5, leastPauseMs: 100 })

  expect(first).toMatchObject({ id: 'x', attempts: 1, notBeforeMs: 2125 })
  expect(second).toMatchObject({ id: 'x', attempts: 2, notBeforeMs: 3150 })
  expect([mayTry(first, 2124), mayTry(first, 2125), mayTry(first, -10_000_000)]).toEqual([false, true, true])
  expect(mayTry({ ...open, isDone: true }, 5000)).toBe(false)
})
