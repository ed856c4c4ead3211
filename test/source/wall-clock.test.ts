import { expect, test } from 'vitest'
import { faultServer, html, list, refusal, type Reply } from '../support/fault-server.ts'
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

    expect(askedMs.map((ms) => ms - (askedMs[0] ?? 0))).toEqual([0, 1010, 8010, 9020, 10_030])
    expect(source.counters).toEqual({ requests: 5, throttled: 1, waitedMs: 7000 })
  },
)

test.each([
  ['from an hour ahead to the right time', HOUR_MS, 0],
  ['from an hour behind to the right time', -HOUR_MS, 0],
  ['from the right time to an hour behind', 0, -HOUR_MS],
  ['from an hour ahead to an hour behind', HOUR_MS, -HOUR_MS],
])(
  'a request under way while the wall clock is set %s is signed once more where it was refused',
  async (_, before, after) => {
    const time = settableTime()
    const checked: Reply = (response, request) => {
      const differenceMs = Number(request.headers['x-timestamp']) * 1000 - time.monotonicMs()
      if (server.requests.length === 1) time.setWallClock(after - before)
      const headers = { Date: new Date(time.monotonicMs()).toUTCString() }
      const isRefused = Math.abs(differenceMs) > 300_000
      return (isRefused ? refusal(401, 'unauthenticated', 'no', headers) : list(900, { headers }))(response, request)
    }
    await using server = await faultServer(checked)
    time.setWallClock(before)
    const { source } = aSource(server, {}, time)

    expect(await source.readPage({ page: 1, size: 100 }, PATIENT)).toMatchObject({ total: 900 })
    expect(await source.readPage({ page: 2, size: 100 }, PATIENT)).toMatchObject({ total: 900 })
  },
)
