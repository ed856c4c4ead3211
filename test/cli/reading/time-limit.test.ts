import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { timeLimit } from '../../../src/cli/reading/run-statement.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

function aLimit(limitMs: number) {
  const onReached = vi.fn<() => void>()
  return { limit: timeLimit(limitMs, () => performance.now(), onReached), onReached }
}

test('a limit is reached once the time that counted is as long', () => {
  const { limit, onReached } = aLimit(100)
  limit.count(true)
  vi.advanceTimersByTime(60)
  limit.count(false)
  vi.advanceTimersByTime(10_000)
  limit.count(true)
  vi.advanceTimersByTime(39)
  expect(limit.isReached()).toBe(false)
  vi.advanceTimersByTime(1)

  expect(limit.isReached()).toBe(true)
  expect(onReached).toHaveBeenCalledTimes(1)
})

test('to say again that time counts changes nothing', () => {
  const { limit, onReached } = aLimit(100)
  for (let turn = 0; turn < 4; turn += 1) {
    limit.count(true)
    vi.advanceTimersByTime(30)
  }

  expect(onReached).toHaveBeenCalledTimes(1)
})
