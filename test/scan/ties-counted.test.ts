import { expect, test } from 'vitest'
import { chainScan } from '../../src/scan/chain-scan.ts'
import { endOf, type Window } from '../../src/scan/window/window.ts'
import { dice } from '../support/dice.ts'
import { drive } from '../support/drive-scan.ts'
import { SCENARIOS } from '../support/scan-scenarios.ts'
import { seeds } from '../support/seeds.ts'
import { SimulatedList } from '../support/simulated-list.ts'
import { read } from '../support/imports-of-one-second.ts'

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

test('a count of which a window fails proves nothing: a further pass follows', () => {
  const luck = dice(1)
  const createdSecondOf = (serial: number) => (serial >= 1200 && serial < 1500 ? 1200 : serial)
  const list = new SimulatedList(luck, { size: 3000, order: 'ties asc', createdSecondOf })
  const scan = chainScan()
  let [hasReachedEnd, hasFailed] = [false, false]
  const answer = (window: Window) => {
    if (hasReachedEnd && !hasFailed) {
      hasFailed = true
      return 'page-mismatch'
    }
    hasReachedEnd ||= endOf(window) >= list.size
    return list.answer(window)
  }
  drive(scan, { answer }, { dice: luck })

  expect(hasFailed).toBe(true)
  expect(scan.certificate().passes).toBe(2)
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

test('lists with imports of one second are never certified while a customer is unread', () => {
  for (let seed = 1; seed <= seeds(1000, { every: 100 }); seed += 1) {
    const { certificate, lost } = SCENARIOS['imports of one second'](seed)
    if (lost > 0) expect({ seed, proof: certificate.proof }).toEqual({ seed, proof: 'unproven' })
  }
})

test.each([5, 10, 11, 12])(
  'with random changes %i: no count converges where a page repeats another, and rows of the import are unread',
  (seed) => {
    const luck = dice(seed)
    const list = new SimulatedList(luck, { size: 420, order: 'serial', perSecond: 200 })
    const scan = chainScan()
    const between = () => {
      if (!luck.chance(0.15)) return
      if (luck.chance(0.5)) list.insert()
      else list.delete()
    }
    const answer = (window: Window) => ({
      ...list.answer({ ...window, page: window.page === 4 ? 3 : window.page }),
      window,
    })
    const { ids } = drive(scan, { answer, between }, { dice: luck })

    const lost = list.survivors().filter((id) => !ids.has(id)).length
    expect(scan.certificate().proof === 'unproven' || lost === 0).toBe(true)
  },
)
