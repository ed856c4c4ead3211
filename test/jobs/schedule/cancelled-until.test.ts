import { expect, test } from 'vitest'
import { readCancelledUntil } from '../../../jobs/schedule/cancelled-until.ts'

const NOW_MS = Date.parse('2026-01-11T12:00:00Z')
const DAY_MS = 86_400_000
const daily = { cron: '0 2 * * *', timezone: 'UTC', spreadMs: 0 }
const monthly = { ...daily, cron: '0 2 1 * *' }

test.each([
  ['of today', daily, 60_000, true, false],
  ['of three days ago, of a daily schedule', daily, 3 * DAY_MS, false, true],
  ['of eleven hours ago, since when it was due again', daily, 11 * 3_600_000, true, false],
  ['of three days ago, of a monthly schedule', monthly, 3 * DAY_MS, true, false],
  ['of a clock that is a day ahead', daily, -DAY_MS, false, false],
  ['of three days ago, without a schedule', undefined, 3 * DAY_MS, false, true],
])('a cancel %s', async (_of, schedule, agoMs, isKept, isDeleted) => {
  const atMs = NOW_MS - agoMs
  const values = new Map([['cancel:acme', JSON.stringify({ jobs: [], askedAtMs: atMs, untilMs: atMs })]])
  const wanted = schedule === undefined ? [] : [{ organization: 'acme', schedule }]
  const until = await readCancelledUntil(
    { list: async () => values, delete: async (name) => void values.delete(name) },
    wanted,
    NOW_MS,
  )

  expect([...until]).toEqual(isKept ? [['acme', atMs]] : [])
  expect(values.size).toBe(isDeleted ? 0 : 1)
})
