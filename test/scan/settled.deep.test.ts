import { expect, test } from 'vitest'
import { SCENARIOS } from '../support/scan-scenarios.ts'
import { seeds } from '../support/seeds.ts'

test('every customer who kept their place is read by a scan that settles, under changes at every request', () => {
  for (let seed = 1; seed <= seeds(10_000); seed += 1) {
    const { certificate, lostInPlace } = SCENARIOS.settling(seed)
    if (certificate.proof === 'settled') expect({ seed, lostInPlace }).toEqual({ seed, lostInPlace: 0 })
  }
})
