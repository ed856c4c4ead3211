import { expect, test } from 'vitest'
import type { WindowAnswer } from '../../src/scan/window.ts'
import { honest, scanOf } from '../support/scanned-services.ts'
import { seeds } from '../support/seeds.ts'

const SIZE = 1030

test('a scan stopped after any window goes on where it was, and is proven whatever happened meanwhile', () => {
  for (let seed = 1; seed <= seeds(20, { least: 2 }); seed++) {
    for (let stopAfter = 1; stopAfter <= 12; stopAfter++) {
      const { certificate, lost } = scanOf(honest, {
        ...{ size: SIZE, stopAfter, seed: seed * 100 + stopAfter, parallel: 1 + ((seed + stopAfter) % 4) },
        order: (seed + stopAfter) % 2 === 0 ? 'id asc' : 'created desc, id asc',
        // The totals of windows read before do not say in which order they came.
        between: (list, _, answered) => {
          if (answered < stopAfter && answered === 1) for (let come = 0; come < 5; come += 1) list.insert()
          if (answered < stopAfter && answered === 2) list.delete(10, 0)
        },
        meanwhile: (list, luck) => {
          for (let gone = luck.below(200); gone > 0; gone--) list.delete()
          for (let come = luck.below(200); come > 0; come--) list.insert()
        },
      })
      const proven = { seed, stopAfter, proof: 'proven', reasons: [], lost: 0 }
      expect({ seed, stopAfter, lost, ...certificate }).toMatchObject(proven)
    }
  }
})

test.each<[string, number, (reads: WindowAnswer[]) => WindowAnswer[]]>([
  ['where the first three are missing', 7, (reads) => reads.slice(3)],
  ['with no row', 1, (reads) => reads.map((read) => ({ ...read, rows: [], total: 0 }))],
])('of the recorded windows, those that link are not read again, and the others are: %s', (_, stopAfter, kept) => {
  const { certificate, lost } = scanOf(honest, { size: SIZE, stopAfter, kept })
  expect(certificate).toMatchObject({ proof: 'proven', distinct: SIZE })
  expect(lost).toBe(0)
})
