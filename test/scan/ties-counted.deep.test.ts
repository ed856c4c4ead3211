import { expect, test } from 'vitest'
import { SCENARIOS } from '../support/scan-scenarios.ts'
import { seeds, someOf } from '../support/seeds.ts'
import { SimulatedList } from '../support/simulated-list.ts'
import { read } from '../support/imports-of-one-second.ts'

test('lists with imports of one second are never certified while a customer is unread', () => {
  for (let seed = 1; seed <= seeds(10_000); seed += 1) {
    const { certificate, lost } = SCENARIOS['imports of one second'](seed)
    if (lost > 0) expect({ seed, proof: certificate.proof }).toEqual({ seed, proof: 'unproven' })
  }
})

test.each([
  ['a customer is deleted before the import', (list: SimulatedList) => list.delete(1, 10)],
  ['customers of the import are deleted', (list: SimulatedList) => list.delete(5, 600)],
  ['a customer is deleted behind it', (list: SimulatedList) => list.delete(1, 1100)],
])('where %s during the count, nothing is certified while a customer is unread', (_, change) => {
  for (const when of someOf(
    Array.from({ length: 41 }, (_row, index) => index + 5),
    { every: 8 },
  )) {
    const reading = { size: 1200, imports: [{ first: 500, rows: 300 }] }
    const { certificate, lost } = read(reading, (list, answer) => answer === when && change(list))
    if (certificate.proof !== 'unproven') expect({ when, lost }).toEqual({ when, lost: 0 })
  }
})

test('a whole list of one second in another order at each request is never certified while a customer is unread', () => {
  const { certificate, lost } = read({ size: 2500, imports: [{ first: 1, rows: 2500 }] })
  if (certificate.proof !== 'unproven') expect(lost).toBe(0)
})
