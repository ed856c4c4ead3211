import { expect, test } from 'vitest'
import { quickOutlook } from '../../../jobs/schedule/due-times.ts'

const NOW_MS = Date.UTC(2026, 0, 11, 12)
const MINUTE_MS = 60_000
const NIGHTLY = { cron: '0 2 * * *', timezone: 'UTC', spreadMs: 0 }

test.each([
  ['every quarter of an hour', { quick: '*/15 * * * *' }, { inADay: 95, nextMs: NOW_MS + 15 * MINUTE_MS }, false],
  ['with the nights alone', { quick: '0 2 * * *' }, { inADay: 1, nextMs: NOW_MS + 840 * MINUTE_MS }, true],
])('quick runs %s are counted for a day, and the next one is named', (_, schedule, outlook, isAlwaysAtNight) => {
  expect(quickOutlook('acme', { ...NIGHTLY, ...schedule }, NOW_MS)).toEqual({ ...outlook, isAlwaysAtNight })
})

test('an organization without quick runs has no outlook on them', () => {
  expect(quickOutlook('acme', NIGHTLY, NOW_MS)).toBeUndefined()
})
