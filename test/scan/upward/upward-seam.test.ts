import { describe, expect, test } from 'vitest'
import { Coverage } from '../../../src/scan/coverage.ts'
import { seenIds } from '../../../src/scan/seen.ts'
import { isLinked, type UpwardSeam, upwardSeamBetween } from '../../../src/scan/upward/upward-chain.ts'
import { prepareWindow, type ReadWindow } from '../../../src/scan/window/read-window.ts'

describe.each(['upper', 'lower'] as const)('where the %s window was read first', (first) => {
  test.each([
    ['share the two rows where they meet', 'abcdef', 'efghij', true],
    ['share one row', 'abcdef', 'fghijk', false],
    ['share no row', 'abcdef', 'ghijkl', false],
    ['share two rows in another order', 'abcdfe', 'efghij', false],
    ['share rows of which one has gone up', 'fabcde', 'defghi', false],
    ['share two rows, and the upper one has two others between', 'abexyf', 'efghij', false],
    ['share two rows, and the upper one has one other between', 'abcexf', 'efghij', true],
    ['share two rows, and the lower one has two others between', 'abcdef', 'exyfgh', false],
    ['share two rows, and the lower one has two others before', 'abcdef', 'xyefgh', false],
    ['share two rows, and the lower one begins further up', 'efghij', 'xyefgh', true],
    ['share two rows that stand at the end of neither', 'abefcd', 'ghefij', false],
    ['share two rows at the end of the lower one', 'efabcd', 'ghijef', true],
    ['share eight rows that stand at the end of neither', 'abklmnopqrcd', 'efklmnopqrgh', true],
    ['share seven rows that stand at the end of neither', 'abklmnopqcd', 'efklmnopqgh', false],
  ] as const)('windows that %s', (_, upper, lower, areLinked) => {
    const seam = seamOf({ upper, lower }, first)

    expect(isLinked(seam, { mayMove: false })).toBe(areLinked)
  })

  test.each([
    ['two rows', 'efabcd', 'abcdef', true],
    ['as many rows as kept their places', 'cdefab', 'abcdef', false],
  ] as const)('of the top that is read again, %s have gone up', (_, upper, lower, areLinked) => {
    const seam = seamOf({ upper, lower }, first)

    expect(isLinked(seam, { mayMove: true })).toBe(areLinked)
    expect(isLinked(seam, { mayMove: false })).toBe(false)
  })

  test('rows that were pushed down are so by the places between the two answers', () => {
    expect(seamOf({ upper: 'abcdef', lower: 'efghij', lowerStart: 20 }, first)).toEqual({
      kept: 2,
      firstKept: 4,
      moved: 0,
      strange: 0,
      meets: true,
      shift: 10 + 5 - 20 - 1,
    })
  })
})

/** The seam of two windows of rows that are letters. */
function seamOf(
  { upper, lower, lowerStart = 10 }: { upper: string; lower: string; lowerStart?: number },
  first: 'upper' | 'lower',
): UpwardSeam {
  const coverage = new Coverage(seenIds())
  const read = (letters: string, start: number): ReadWindow => {
    const rows = letters.split('').map((id) => ({ id, createdAt: undefined }))
    // Pages of one row begin at any position.
    const window = { page: start + 1, size: 1 }
    const prepared = prepareWindow({ window, rows, total: 100, perPage: 1, beyondEnd: false }, coverage)
    coverage.add(prepared)
    return prepared
  }
  if (first === 'upper') return upwardSeamBetween(read(upper, 10), read(lower, lowerStart))
  const below = read(lower, lowerStart)
  return upwardSeamBetween(read(upper, 10), below)
}
