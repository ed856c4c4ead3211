import { expect, test } from 'vitest'
import { playCapped } from '../support/capped-nights.ts'

test('no list behind a cap is certified while a customer is unread, night after night', () => {
  for (const { seed, night, certificate, lost } of playCapped(10_000)) {
    if (lost > 0) expect({ seed, night, proof: certificate.proof }).toEqual({ seed, night, proof: 'unproven' })
  }
})
