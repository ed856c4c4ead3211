import { expect, test } from 'vitest'
import { owedBySettled } from '../../bench/scoreboard/kept-places.ts'

const STAYED = new Set(['a', 'b', 'c', 'd', 'e', 'f'])
const MOVED = new Set(['x', 'y'])

test.each([
  ['all were read', ['abc', 'cdef'], ''],
  ['one was not, between pages that share none', ['ab', 'def'], 'c'],
  ['one was not, although the pages share one who stayed', ['abd', 'def'], 'c'],
  ['one was not, although the pages share a newcomer who did not move', ['abnx', 'nxdef'], 'c'],
  ['one was not, between pages that share only customers who moved', ['abxy', 'xydef'], ''],
  ['one was not, and the pages that share movers are on one side of it', ['abxy', 'cxye'], 'df'],
  ['one was not, and the pages share a single mover', ['abx', 'xdef'], 'c'],
  ['the last was not read', ['abxy', 'xycde'], 'f'],
])('a settled scan where %s', (_, pages, missing) => {
  const read = pages.map((page) => page.split(''))
  const owed = owedBySettled({ stayed: STAYED, moved: MOVED }, read)

  expect([...owed.difference(new Set(read.flat()))].join('')).toBe(missing)
  expect(owed.isSupersetOf(STAYED.intersection(new Set(read.flat())))).toBe(true)
})
