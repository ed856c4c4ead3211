import { expect, test } from 'vitest'
import { ListScan } from '../../src/scan/list-scan.ts'
import type { WindowAnswer } from '../../src/scan/window.ts'
import { dice } from '../support/dice.ts'
import { drive } from '../support/drive-scan.ts'
import { asHandedBack, honest, scanOf } from '../support/scanned-services.ts'
import { seeds } from '../support/seeds.ts'
import { KnownList } from '../support/known-list.ts'

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

test('a list that looks still across interruptions is not proven by that: moves in the meantime may cancel out', () => {
  const proofs = new Set<string>()
  for (let seed = 1; seed <= seeds(1200, { every: 80 }); seed++) {
    const luck = dice(seed)
    const list = new KnownList(luck, { size: SIZE, order: seed % 4 === 0 ? 'last change asc' : 'name' })
    const service = { answer: list.answer.bind(list) }
    const rides = [drive(new ListScan(), service, { dice: luck, stopAfter: 1 + luck.below(11) })]
    const goOn = () => {
      const scan = new ListScan({ recalled: asHandedBack(rides.flatMap(({ reads }) => reads)) })
      rides.push(drive(scan, service, { dice: luck, parallel: 1 + (seed % 3) }))
      return scan.certificate()
    }
    if (luck.chance(0.8)) list.delete()
    if (luck.chance(0.8)) list.insert()
    list.move()
    // Some are interrupted once more, after their last window.
    if (seed % 2 === 0) goOn()
    const { proof, basis } = goOn()
    const lost = list.survivors().filter((id) => !rides.some(({ ids }) => ids.has(id)))
    proofs.add(`${proof} ${basis}`)
    if (proof === 'proven') expect({ seed, lost }).toEqual({ seed, lost: [] })
  }
  expect([...proofs]).toContain('settled seams')
})

test.each<[string, number, (reads: WindowAnswer[]) => WindowAnswer[]]>([
  ['where the first three are missing', 7, (reads) => reads.slice(3)],
  ['where one between them is missing', 7, (reads) => reads.toSpliced(3, 1)],
  ['with no row', 1, (reads) => reads.map((read) => ({ ...read, rows: [], total: 0 }))],
  ['with more rows than its size', 1, (reads) => reads.map((read) => ({ ...read, perPage: 50 }))],
])('of the recorded windows, those that link are not read again, and the others are: %s', (_, stopAfter, kept) => {
  const { certificate, lost } = scanOf(honest, { size: SIZE, stopAfter, kept })
  expect(certificate).toMatchObject({ proof: 'proven', distinct: SIZE })
  expect(lost).toBe(0)
})
