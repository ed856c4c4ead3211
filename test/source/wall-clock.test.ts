import { expect, test } from 'vitest'
import { faultServer, html, list } from '../support/fault-server.ts'
import { aSource, PATIENT } from './a-source.ts'
import { virtualTime } from './virtual-time.ts'

const HOUR_MS = 3_600_000

/** Virtual time with a wall clock beside it that can be set. */
function settableTime() {
  const time = virtualTime()
  let aheadMs = 0
  return {
    ...time,
    now: () => time.monotonicMs() + aheadMs,
    setWallClock: (byMs: number) => {
      aheadMs += byMs
    },
  }
}

test.each([-HOUR_MS, HOUR_MS])(
  'a wall clock set by %d ms changes neither the spread of the requests nor a wait',
  async (byMs) => {
    const time = settableTime()
    const askedMs: number[] = []
    await using server = await faultServer((response, request) => {
      askedMs.push(time.monotonicMs())
      time.setWallClock(byMs)
      return (askedMs.length === 2 ? html(429, { 'Retry-After': 7 }) : list(900))(response, request)
    })
    const { source } = aSource(server, { requestsPerMinute: 60, maxWaitMs: 60_000, longestWaitMs: 30_000 }, time)
    for (const page of [1, 2, 3, 4]) await source.readPage({ page, size: 100 }, PATIENT)

    expect(askedMs.map((ms) => ms - (askedMs[0] ?? 0))).toEqual([0, 1000, 8000, 9000, 10_000])
    expect(source.counters).toEqual({ requests: 5, throttled: 1, waitedMs: 7000 })
  },
)
