import { expect, test } from 'vitest'
import { playLocalTimes } from '../support/local-time-nights.ts'
import { seeds } from '../support/seeds.ts'

test('no list of local times is proven while a customer is unread', () => {
  for (const { seed, certificate, lost } of playLocalTimes(seeds(10_000))) {
    if (lost > 0) expect({ seed, proof: certificate.proof }).not.toEqual({ seed, proof: 'proven' })
  }
})
