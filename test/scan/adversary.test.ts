import { expect, test } from 'vitest'
import { playAdversary } from '../support/adversary.ts'
import { seeds } from '../support/seeds.ts'

/** Lists of each part, each with five nights. */
const LISTS = seeds(400, { every: 20 })

test('whatever a service does, every scan ends within its budget, and its certificate holds', () => {
  for (let seed = 1; seed <= LISTS; seed += 1) expectToHold(seed)
})

test('the same holds where rows move to the top, and pages fail', () => {
  const orders = ['last change first', 'last change first'] as const
  for (let seed = 1; seed <= LISTS / 4; seed += 1) {
    expectToHold(1_000_000 + seed, { orders, size: 200 + (seed % 400), turns: 'never' })
  }
})

/**
 * A proven list that never moves its customers lacks none. No list, proven or settled, lacks a customer who kept their place, unless
 * all customers that two pages share have moved.
 */
function expectToHold(seed: number, given: Parameters<typeof playAdversary>[1] = {}): void {
  const { plan, nights } = playAdversary(seed, given)
  for (const { night, certificate, faults, lost, lostInPlace, isSteady } of nights) {
    const { proof, basis } = certificate
    const isClaimed = proof === 'proven' || proof === 'settled'
    const missing = proof === 'proven' && isSteady ? lost : isClaimed ? lostInPlace : []
    expect({ seed, plan, night, proof, basis, faults, missing }).toMatchObject({ faults: [], missing: [] })
  }
}
