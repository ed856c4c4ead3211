import { describe, expect, test } from 'vitest'
import { Coverage } from '../../../src/scan/coverage.ts'
import { TieRegion } from '../../../src/scan/proof/tie-region.ts'
import { seenIds } from '../../../src/scan/seen.ts'
import { prepareWindow, type ReadWindow } from '../../../src/scan/window/read-window.ts'
import type { Row, Window } from '../../../src/scan/window/window.ts'

const SIZE = 10

describe.each(['asc', 'desc'] as const)('among creation times %s', (direction) => {
  const secondAt = (position: number) =>
    (direction === 'asc' ? 1 : -1) * (position >= 5 && position < 45 ? 5 : position)
  const list = aList(60, secondAt)

  test('the rows of a window count where all of it lies in the region', () => {
    const unreadAfter = (window: Window) => {
      const region = crossed(list)
      region.forget()
      region.add(read(window, list))
      return region.unread
    }

    expect(crossed(list).unread).toBe(0)
    expect(unreadAfter({ page: 3, size: SIZE })).toBe(44 - SIZE)
    expect(unreadAfter({ page: 5, size: 9 })).toBe(44 - 9)
    expect(unreadAfter({ page: 1, size: SIZE })).toBe(44)
    expect(unreadAfter({ page: 5, size: SIZE })).toBe(44)
    expect(unreadAfter({ page: 6, size: SIZE })).toBe(44)
  })

  test.each([
    ['stands where it stood', { again: list, unread: 44 - 5 }],
    ['has moved', { again: list.slice(1), unread: undefined }],
    ['has another time', { again: aList(60, (at) => (at < 5 ? secondAt(at) : 1000)), unread: undefined }],
  ])('its beginning, read again, %s', (_, { again, unread }) => {
    const region = crossed(list)
    region.forget()

    expect(region.begins(read({ page: 1, size: SIZE }, again))).toBe(unread !== undefined)
    expect(region.unread).toBe(unread ?? 44)
  })

  test.each([
    ['stands where it stood', { again: list, unread: 44 - 9 }],
    ['has moved', { again: list.slice(1), unread: undefined }],
    ['has become shorter', { again: aList(60, (at) => secondAt(at === 48 ? 49 : at)), unread: undefined }],
    ['has another time behind it', { again: aList(60, (at) => secondAt(at < 45 ? at : at + 1)), unread: undefined }],
  ])('its end, read again, %s', (_, { again, unread }) => {
    const region = crossed(list)
    region.forget()

    expect(region.ends(read({ page: 5, size: SIZE }, again))).toBe(unread !== undefined)
    expect(region.unread).toBe(unread ?? 44)
  })

  test('a region at the end of the list ends where the list still ends there', () => {
    const shorter = list.slice(0, 45)
    const region = crossed(shorter)
    const ends = (rows: readonly Row[], total = rows.length) => region.ends(read({ page: 5, size: SIZE }, rows, total))

    expect(region).toMatchObject({ endsList: true, size: 40, unread: 0 })
    expect(ends(shorter)).toBe(true)
    expect(ends(shorter.slice(1))).toBe(false)
    expect(ends(shorter, 46)).toBe(false)
  })

  test('the rows of a window count in a region at the end of the list where it begins in the region', () => {
    const region = crossed(list.slice(0, 45))
    region.forget()

    region.add(read({ page: 1, size: SIZE }, list))
    expect(region.unread).toBe(40)
    region.add(read({ page: 3, size: SIZE }, list))
    expect(region.unread).toBe(40 - SIZE)
  })
})

test.each([1, 2, 3, 4, 5])('a region is quiet unless window %i of it states another total than the others', (other) => {
  const list = aList(60, (position) => (position >= 5 && position < 45 ? 5 : position))

  expect(crossed(list).isQuiet).toBe(true)
  expect(crossed(list, { other, total: 61 }).isQuiet).toBe(false)
})

/** The region of the rows from 5 on, of which one page may state another total. */
function crossed(list: readonly Row[], { other = 0, total = 0 } = {}): TieRegion {
  const pageAt = (page: number) => read({ page, size: SIZE }, list, page === other ? total : list.length)
  const region = new TieRegion(pageAt(1), pageAt(2))
  for (const page of [3, 4, 5]) region.extend(pageAt(page))
  region.close()
  return region
}

function aList(length: number, secondAt: (position: number) => number): Row[] {
  return Array.from({ length }, (_, position) => ({
    id: String(position),
    createdAt: new Date(1_700_000_000_000 + 1000 * secondAt(position)).toISOString(),
  }))
}

function read(window: Window, list: readonly Row[], total = list.length): ReadWindow {
  const start = window.size * (window.page - 1)
  const rows = list.slice(start, start + window.size)
  return prepareWindow({ window, rows, total, perPage: window.size, beyondEnd: false }, new Coverage(seenIds()))
}
