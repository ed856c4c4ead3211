import { expect, test } from 'vitest'
import { rateLimiter } from '../../src/service/rate-limit.ts'

test('a window opens with the first request and lets the limit through', () => {
  const take = rateLimiter({ requests: 2, windowMs: 5000 })
  expect(take(1_000_000)).toMatchObject({ allowed: true, limit: 2, remaining: 1 })
  expect(take(1_004_000)).toMatchObject({ allowed: true, remaining: 0 })
  expect(take(1_004_500)).toEqual({
    allowed: false,
    limit: 2,
    remaining: 0,
    retryAfterSeconds: 1,
    resetUnixSeconds: 1005,
  })
})

test('the next window opens with the first request after the end, not at the end', () => {
  const take = rateLimiter({ requests: 1, windowMs: 5000 })
  expect(take(0).allowed).toBe(true)
  expect(take(4999).allowed).toBe(false)
  expect(take(8000).allowed).toBe(true)
  expect(take(12_999)).toMatchObject({ allowed: false, retryAfterSeconds: 1, resetUnixSeconds: 13 })
  expect(take(13_000).allowed).toBe(true)
})

test('requests that are turned away do not lengthen the wait', () => {
  const take = rateLimiter({ requests: 1, windowMs: 60_000 })
  take(0)
  for (let nowMs = 1; nowMs < 60_000; nowMs += 1000) expect(take(nowMs).allowed).toBe(false)
  expect(take(60_000).allowed).toBe(true)
})

test('a request after the requested wait is accepted', () => {
  const take = rateLimiter({ requests: 1, windowMs: 5300 })
  take(0)
  const { retryAfterSeconds } = take(123)
  expect(take(123 + retryAfterSeconds * 1000).allowed).toBe(true)
})

test('a sliding window never holds more than the limit, wherever it begins', () => {
  const take = rateLimiter({ requests: 2, windowMs: 5000, window: 'sliding' })
  expect(take(0)).toMatchObject({ allowed: true, remaining: 1 })
  expect(take(4000)).toMatchObject({ allowed: true, remaining: 0 })
  expect(take(4500)).toMatchObject({ allowed: false, retryAfterSeconds: 1, resetUnixSeconds: 5 })
  expect(take(5000).allowed).toBe(true)
  expect(take(8999)).toMatchObject({ allowed: false, retryAfterSeconds: 1 })
  expect(take(9000).allowed).toBe(true)
})
