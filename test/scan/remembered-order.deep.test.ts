import { expect, test } from 'vitest'
import { expectNoFalseProof, expectRareFalseProof, isRemembered } from '../support/over-nights.ts'
import { seeds } from '../support/seeds.ts'

/** Lists of each order, each read on five nights: ten thousand readings in all. */
const LISTS = seeds(340)

test.each(['hidden', 'name', 'last change asc', 'last change desc'] as const)(
  'over the nights of many lists by %s, the order as last read proves no scan while a customer who was listed throughout is missing',
  (order) => {
    const reads = expectNoFalseProof(order, LISTS)
    if (order === 'hidden') expect(reads.filter(isRemembered).length).toBeGreaterThan(LISTS / 2)
  },
)

test.each(['balance', 'balance from the third night'] as const)(
  'over the nights of many lists by a hidden %s, a false proof stays below 1 in 5,000, and misses only who moved',
  (order) => expectRareFalseProof(order, LISTS),
)
