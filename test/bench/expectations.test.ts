import { expect, test } from 'vitest'
import { expectationOf, priceList } from '../../bench/scoreboard/expectations.ts'
import type { Night } from '../../bench/scoreboard/score.ts'

function night(number: number, word: string, pages: number): Night {
  const said = { claim: 'whole', word, reasons: [], isDefect: false, pages: [], holes: [] } as const
  const none = new Set<string>()
  return { night: number, said, absent: none, excused: none, unread: 0, wronglyRemoved: none, requests: pages, pages }
}

const LOOP = [1, 2, 3].map((number) => night(number, 'success', 100))

test.each([
  ['proven and settled within the price', ['settled', 165, 'settled', 170, 'proven', 120], []],
  [
    'too dear',
    ['settled', 140, 'settled', 171, 'settled', 140],
    ['night 2 (settled): 1.71 times the plain requests, more than 1.7'],
  ],
  [
    'a weaker end',
    ['settled', 140, 'settled', 140, 'unproven', 140],
    ['night 3 (unproven): neither proven nor settled'],
  ],
] as const)('%s', (_, [a, one, b, two, c, three], shortfalls) => {
  const scan = [night(1, a, one), night(2, b, two), night(3, c, three)]

  expect(expectationOf('by-name-slow', { loop: LOOP, scan })?.shortfalls).toEqual(shortfalls)
  expect(expectationOf('still', { loop: LOOP, scan })).toBeUndefined()
})

test('the price of each night is printed', () => {
  const expectation = expectationOf('last-change', { loop: LOOP, scan: [night(1, 'unproven', 310)] })

  expect(expectation && priceList('last-change', expectation)).toBe(
    'last-change: unproven at 3.10 times the plain requests, night by night (at most 1.7)',
  )
})
