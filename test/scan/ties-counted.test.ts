import { expect, test } from 'vitest'
import { chainScan } from '../../src/scan/chain-scan.ts'
import type { Window } from '../../src/scan/window/window.ts'
import { dice } from '../support/dice.ts'
import { drive } from '../support/drive-scan.ts'
import { SCENARIOS } from '../support/scan-scenarios.ts'
import { seeds, someOf } from '../support/seeds.ts'
import { type ListOrder, SimulatedList } from '../support/simulated-list.ts'

type Import = { first: number; rows: number }
type Reading = { size: number; imports: readonly Import[]; order?: ListOrder }

/** Reads a list in which the rows of each import share a second, and something happens just before each answer. */
function read(
  { size, imports, order = 'ties asc' }: Reading,
  before: (list: SimulatedList, answer: number) => void = () => {},
) {
  const luck = dice(1)
  const createdSecondOf = (serial: number) =>
    imports.find(({ first, rows }) => serial >= first && serial < first + rows)?.first ?? serial
  const list = new SimulatedList(luck, { size, order, createdSecondOf })
  const scan = chainScan()
  let answers = 0
  const service = { answer: (window: Window) => list.answer(window), between: () => before(list, (answers += 1)) }
  const { ids, requests } = drive(scan, service, { dice: luck, parallel: 4 })
  return { certificate: scan.certificate(), requests, lost: list.survivors().filter((id) => !ids.has(id)).length }
}

test('a sixteenth of a list in one second, in another order at each request, costs a count in its place and no further pass', () => {
  const { certificate, requests, lost } = read({ size: 12_000, imports: [{ first: 4800, rows: 750 }] })

  expect(certificate).toMatchObject({ proof: 'converged', basis: 'counted', passes: 1 })
  expect(certificate.reasons).toContain('ties')
  expect(lost).toBe(0)
  expect(requests).toBeLessThanOrEqual(120 * 1.7)
})

test.each([
  ['fits into a page', { first: 2000, rows: 80 }],
  ['is a little longer than a page', { first: 2000, rows: 120 }],
  ['is at the beginning of the list', { first: 1, rows: 300 }],
  ['is at the end of the list', { first: 4201, rows: 300 }],
] as const)('an import that %s is read in one pass', (_, imported) => {
  for (const order of ['ties asc', 'ties desc'] as const) {
    const { certificate, requests, lost } = read({ size: 4500, imports: [imported], order })

    expect(['proven', 'converged']).toContain(certificate.proof)
    expect(certificate.passes).toBe(1)
    expect(lost).toBe(0)
    // A count of 300 rows takes about 25 windows.
    expect(requests).toBeLessThanOrEqual(45 * 1.2 + 45)
  }
})

test('groups of forty customers in each second are proven in one pass', () => {
  const imports = Array.from({ length: 30 }, (_, group) => ({ first: group * 40 + 1, rows: 40 }))
  const { certificate, requests } = read({ size: 1050, imports })

  expect(certificate).toMatchObject({ proof: 'proven', basis: 'witness', passes: 1 })
  expect(requests).toBeLessThan(30)
})

test('an import whose rows keep their order is read in one pass while the list grows', () => {
  const imports = [{ first: 3000, rows: 1000 }]
  const { certificate, requests } = read({ size: 9500, imports, order: 'serial' }, (list) => list.insert())

  expect(certificate.passes).toBe(1)
  expect(certificate.proof).not.toBe('unproven')
  expect(requests).toBeLessThan(95 * 1.6)
})

test('an import whose rows keep their order settles, although it was counted too', () => {
  const imports = [{ first: 500, rows: 2000 }]
  const { certificate, lost } = read({ size: 3500, imports, order: 'serial' }, (list, answer) => {
    if (answer === 12) list.insert()
  })

  expect(lost).toBe(0)
  expect(certificate).toMatchObject({ proof: 'settled', basis: undefined, passes: 1 })
  expect(certificate.reasons).toContain('ties')
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

test('lists with imports of one second are never certified while a customer is unread', () => {
  for (let seed = 1; seed <= seeds(1000, { every: 30 }); seed += 1) {
    const { certificate, lost } = SCENARIOS['imports of one second'](seed)
    if (lost > 0) expect({ seed, proof: certificate.proof }).toEqual({ seed, proof: 'unproven' })
  }
})
