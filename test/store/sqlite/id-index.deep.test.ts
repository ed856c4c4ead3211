import { expect, test } from 'vitest'
import { fingerprintWith } from '../../../src/model/fingerprint.ts'
import { customerId } from '../../support/builders.ts'
import { InitialIds } from '../../../src/store/pages/initial-ids.ts'

test('ids are found among hundreds of thousands, and others hardly ever', () => {
  const ids = new InitialIds(fingerprintWith(Buffer.alloc(16, 7)))
  for (let n = 1; n <= 200_000; n += 1) ids.add(customerId(n), n)
  const mistaken: number[] = []
  for (let n = 1; n <= 200_000; n += 1) {
    const rows: number[] = []
    ids.addRowsOf(customerId(n), rows)
    if (!rows.includes(n)) throw new Error(`${n} is lost`)
    ids.addRowsOf(customerId(n + 200_000), mistaken)
  }

  expect(mistaken.length).toBeLessThan(200)
})
