import { expect, test } from 'vitest'
import { Coverage } from '../../../src/scan/coverage.ts'
import { TieRegions } from '../../../src/scan/proof/chain-proof.ts'
import { seenIds } from '../../../src/scan/seen.ts'
import { prepareWindow, type ReadWindow } from '../../../src/scan/window/read-window.ts'

test('windows in a row that lie in one creation time are one region, and those behind others a region of their own', () => {
  const regions = new TieRegions()
  const [first, second, third] = [aWindow(1), aWindow(2), aWindow(3)]

  regions.cross(first, second)
  regions.cross(second, third)
  regions.leave()
  regions.cross(aWindow(7), aWindow(8))
  regions.leave()

  expect(regions.all.map(({ start, end }) => [start.start, end.start])).toEqual([
    [0, 20],
    [60, 70],
  ])
})

/** Ten rows of one creation time, in a list of a thousand. */
function aWindow(page: number): ReadWindow {
  const rows = Array.from({ length: 10 }, (_, place) => ({ id: `${page} ${place}`, createdAt: '2024-01-01T00:00:00Z' }))
  const window = { page, size: 10 }
  return prepareWindow({ window, rows, total: 1000, perPage: 10, beyondEnd: false }, new Coverage(seenIds()))
}
