import { describe, expect, test } from 'vitest'
import { newestAbsent, unjudgedRows } from '../../../src/store/absent/older-list.ts'

const NOON_MS = Date.UTC(2026, 0, 10, 12)
const DAY_MS = 86_400_000
const NOON = '2026-01-10 12:00:00'
const LAST = '2026-01-11 12:00:00'
const absent = (...times: (string | null)[]) => times.map((createdAtUtc, index) => ({ rowId: index + 1, createdAtUtc }))

describe('the newest absent customer', () => {
  test.each([
    ['both clocks agree', NOON_MS, NOON_MS],
    ['the service sends no date', NOON_MS, undefined],
    ['this machine is a month behind', NOON_MS - 30 * DAY_MS, NOON_MS],
    ['the service is a month behind', NOON_MS, NOON_MS - 30 * DAY_MS],
  ])('is not one dated a day ahead of the later clock, where %s', (_what, startedAtMs, serviceMs) => {
    const newest = (...times: (string | null)[]) => newestAbsent(absent(...times), { startedAtMs }, serviceMs)

    expect(newest('2026-01-11 12:00:01', LAST, NOON, null)).toEqual({ than: LAST, last: LAST })
    expect(newest('2026-01-11 12:00:01', NOON)).toEqual({ than: NOON, last: LAST })
    expect(newest('2026-01-11 12:00:01', null)).toBeUndefined()
  })
})

describe('unjudged', () => {
  const times = { than: NOON, last: LAST }
  const rows = absent('2026-01-10 11:59:58', '2026-01-10 11:59:59', NOON, LAST, '2026-01-11 12:00:01', null)

  test.each([
    [
      'are those as new as the newest one listed or newer, by dates that can be right',
      '2026-01-10 11:59:59',
      [2, 3, 4],
    ],
    ['are none where one is listed that is as new as the newest one absent', NOON, []],
    ['are none where no creation time is known', undefined, []],
  ])('%s', (_what, listed, unjudged) => {
    expect([...unjudgedRows(rows, times, listed)]).toEqual(unjudged)
  })
})
