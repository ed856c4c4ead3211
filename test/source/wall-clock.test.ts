import { expect, test } from 'vitest'
import { faultServer, list, refusal, type Reply } from '../support/fault-server.ts'
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
