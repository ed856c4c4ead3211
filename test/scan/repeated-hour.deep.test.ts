import { expect, test } from 'vitest'
import { playLocalTimes } from '../support/local-time-nights.ts'

test('none of ten thousand lists of local times is proven while a customer is unread', () => {
  for (const { seed, certificate, lost } of playLocalTimes(3000)) {
    if (lost > 0) expect({ seed, proof: certificate.proof }).not.toEqual({ seed, proof: 'proven' })
  }
})
