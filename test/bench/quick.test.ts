import { expect, test } from 'vitest'
import { playQuickRounds, type QuickRounds } from '../../bench/quick/quick-rounds.ts'

const FEW = { customers: 4000, come: 5, leave: 2, maxRequests: 100, rounds: 10 } as const

test('in order of creation all changes are found, in the same requests each time it is played', () => {
  const rounds = played({ ...FEW, order: 'creation' })

  expect(rounds.every(({ unseen, isAtLimit }) => unseen === 0 && !isAtLimit)).toBe(true)
  expect(Math.max(...rounds.map(({ requests }) => requests))).toBeLessThanOrEqual(40)
  expect(played({ ...FEW, order: 'creation' })).toEqual(rounds)
})

test('by name, changes that were not found are counted, and no limit is exceeded', () => {
  const rounds = played({ ...FEW, order: 'name', maxRequests: 12 })

  expect(rounds.every(({ requests }) => requests <= 12)).toBe(true)
  expect(rounds.some(({ unseen }) => unseen > 0)).toBe(true)
  expect(rounds.some(({ isAtLimit }) => isAtLimit)).toBe(true)
})

test('a list that did not change has nothing to find', () => {
  const rounds = played({ ...FEW, order: 'name', come: 0, leave: 0 })

  expect(rounds.map(({ unseen }) => unseen)).toEqual(rounds.map(() => 0))
})

function played(rounds: QuickRounds) {
  return playQuickRounds(rounds).map(({ requests, unseen, isAtLimit }) => ({ requests, unseen, isAtLimit }))
}
