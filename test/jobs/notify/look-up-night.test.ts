import { expect, test } from 'vitest'
import { isAnyBehind } from '../../../jobs/notify/nights.ts'
import type { LastRun } from '../../../src/model/mirror.ts'

const HOUR_MS = 3_600_000
const NOW_MS = Date.UTC(2026, 4, 1, 12)
const schedule = { cron: '0 2 * * *', timezone: 'UTC', spreadMs: 0 }
const organizations = ['acme', 'globex'].map((id) => ({ id, schedule, seenAtMs: 0 }))

const read = (organization: string, hoursAgo: number, status: LastRun['status'] = 'complete'): LastRun => {
  const startedAtMs = NOW_MS - hoursAgo * HOUR_MS
  return {
    ...{ organization, status, startedAtMs, endedAtMs: startedAtMs, firstRunAtMs: 1, completeAsOfMs: startedAtMs },
    ...{ errorCode: undefined, quickErrorCode: undefined },
  }
}

test.each<[string, LastRun[], boolean]>([
  ['none, where all were read since they were due', [read('acme', 9), read('globex', 1)], false],
  ['one that was not read since it was due', [read('acme', 9), read('globex', 30)], true],
  ['one that never ran', [read('acme', 9)], true],
  ['one that failed when it was last read', [read('acme', 9), read('globex', 1, 'failed')], true],
])('behind is %s', async (_which, lastRuns, isBehind) => {
  const mirror = { listLastRuns: () => Promise.resolve(lastRuns) }

  expect(await isAnyBehind(organizations, { mirror, now: () => NOW_MS })).toBe(isBehind)
})
