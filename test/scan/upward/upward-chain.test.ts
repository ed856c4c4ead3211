import { beforeEach, expect, test } from 'vitest'
import { Coverage } from '../../../src/scan/coverage.ts'
import { Findings } from '../../../src/scan/findings.ts'
import { seenIds } from '../../../src/scan/seen.ts'
import { UpwardChain } from '../../../src/scan/upward/upward-chain.ts'
import { prepareWindow, type ReadWindow } from '../../../src/scan/window/read-window.ts'

let coverage: Coverage
let chain: UpwardChain

beforeEach(() => {
  coverage = new Coverage(seenIds())
  chain = new UpwardChain(new Findings(10))
})

test.each([
  ['the top that is asked for again once it has arrived links', { from: 0, to: 0, askedAfter: true, isLinked: true }],
  [
    'the top that was asked for before it arrived does not link',
    { from: 0, to: 0, askedAfter: false, isLinked: false },
  ],
  ['the top above another window does not link', { from: 1, to: 0, askedAfter: true, isLinked: false }],
  ['a window below the top does not link', { from: 10, to: 10, askedAfter: true, isLinked: false }],
])('where some of the shared rows went up, %s', (_, { from, to, askedAfter, isLinked }) => {
  const lower = read('abcdef', from)
  chain.begin(lower)
  const upper = read('efabcd', to)

  const below = chain.below({ read: upper, askedAt: askedAfter ? lower.turn + 1 : lower.turn })

  expect(below).toBe(isLinked ? lower : undefined)
})

test('a chain that left positions unread proves and settles nothing', () => {
  chain.begin(read('opqrst', 14))
  expect(chain.proof.proof()).toEqual({ basis: 'one-page' })

  chain.cut()
  chain.begin(read('abcdef', 0))

  expect(chain.top?.start).toBe(0)
  expect(chain.proof.proof()).toBeUndefined()
  expect(chain.proof.settles).toBe(false)
})

test('windows read before an interruption are linked as others are, from the top to the end', () => {
  for (const window of [read('abcdef', 0), read('efghij', 4), read('ijklmn', 8)]) chain.recall(window)

  expect(chain.proof.windows).toBe(3)
  expect(chain.proof.seams.areFirm).toBe(true)
  expect(chain.top?.start).toBe(0)
})

test('windows read before an interruption that do not link begin the chain anew', () => {
  for (const window of [read('abcdef', 0), read('efghij', 4), read('klmnop', 10)]) chain.recall(window)

  expect(chain.proof.windows).toBe(1)
  expect(chain.top?.start).toBe(10)
})

test('windows read before an interruption are no chain where the last of them is not the end of the list', () => {
  for (const window of [read('abcdef', 0), read('efghij', 4)]) chain.recall(window)

  chain.endRecall()

  expect(chain.proof.windows).toBe(0)
  expect(chain.top).toBeUndefined()
})

/** A window of rows that are letters, of a list of a hundred. */
function read(letters: string, start: number): ReadWindow {
  const rows = letters.split('').map((id) => ({ id, createdAt: undefined }))
  // Pages of one row begin at any position.
  const window = { page: start + 1, size: 1 }
  const prepared = prepareWindow({ window, rows, total: 100, perPage: 1, beyondEnd: false }, coverage)
  coverage.add(prepared)
  return prepared
}
