import { expect, test } from 'vitest'
import { SCENARIOS } from '../support/scan-scenarios.ts'
import { seeds } from '../support/seeds.ts'

test('lists with imports of one second are never certified while a customer is unread', () => {
  for (let seed = 1; seed <= seeds(10_000); seed += 1) {
    const { certificate, lost } = SCENARIOS['imports of one second'](seed)
    if (lost > 0) expect({ seed, proof: certificate.proof }).toEqual({ seed, proof: 'unproven' })
  }
})
