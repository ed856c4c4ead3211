import { expect, test } from 'vitest'
import { ListScan } from '../../src/scan/list-scan.ts'
import type { Window, WindowAnswer } from '../../src/scan/window.ts'
import { type Dice, dice } from '../support/dice.ts'
import { drive, type Service } from '../support/drive-scan.ts'
import { asHandedBack } from '../support/scanned-services.ts'
import { seeds } from '../support/seeds.ts'
import { type ListOrder, SimulatedList } from '../support/simulated-list.ts'

type Interruption = {
  stopAfter: number
  seed?: number
  order?: ListOrder
  /** Pages under way at once, before and after. */
  parallel?: [before: number, after: number]
  answer?: (list: SimulatedList, window: Window) => ReturnType<Service['answer']>
  meanwhile?: (list: SimulatedList, luck: Dice) => unknown
  kept?: (reads: WindowAnswer[]) => WindowAnswer[]
}

/** A scan that is stopped after so many answers, and continued with what was kept of them. */
function continued({ stopAfter, seed = stopAfter, order = 'id asc', parallel = [1, 1], ...told }: Interruption) {
  const { answer = (from, window) => from.answer(window), meanwhile, kept = (reads) => reads } = told
  const luck = dice(seed)
  const list = new SimulatedList(luck, { size: 1030, order })
  const service = { answer: (window: Window) => answer(list, window) }
  const first = drive(new ListScan(), service, { dice: luck, parallel: parallel[0], stopAfter })
  meanwhile?.(list, luck)
  const recalled = kept(asHandedBack(first.reads))
  const scan = new ListScan({ recalled })
  const second = drive(scan, service, { dice: luck, parallel: parallel[1] })
  const known = new Set([...recalled.flatMap(({ rows }) => rows.map(({ id }) => id)), ...second.ids])
  return {
    certificate: scan.certificate(),
    requests: first.requests + second.requests,
    /** The requests of a scan that is not stopped. */
    wholeRequests: () => drive(new ListScan(), service, { dice: luck }).requests,
    unread: list.survivors().filter((id) => !known.has(id)),
  }
}

test('a scan stopped after any window goes on where it was, and is proven whatever happened meanwhile', () => {
  for (let seed = 1; seed <= seeds(20, { least: 2 }); seed++) {
    for (let stopAfter = 1; stopAfter <= 12; stopAfter++) {
      const { certificate, unread } = continued({
        ...{ stopAfter, seed: seed * 100 + stopAfter, parallel: [1 + ((seed + stopAfter) % 4), 3] },
        order: (seed + stopAfter) % 2 === 0 ? 'id asc' : 'created desc, id asc',
        meanwhile: (list, luck) => {
          for (let gone = luck.below(200); gone > 0; gone--) list.delete()
          for (let come = luck.below(200); come > 0; come--) list.insert()
        },
      })
      const proven = { seed, stopAfter, proof: 'proven', reasons: [], unread: [] }
      expect({ seed, stopAfter, unread, ...certificate }).toMatchObject(proven)
    }
  }
})

test('a list that looks still across an interruption is not proven by that: moves in the meantime may cancel out', () => {
  const proofs = new Set<string>()
  for (let seed = 1; seed <= seeds(600, { every: 40 }); seed++) {
    const { certificate, unread } = continued({
      ...{ stopAfter: 1 + (seed % 11), seed, parallel: [1, 3] },
      order: seed % 10 < 7 ? 'name' : 'last change asc',
      meanwhile: (list, luck) => {
        if (luck.chance(0.7)) list.delete()
        if (luck.chance(0.7)) list.insert()
        list.move()
      },
    })
    const { proof, basis } = certificate
    proofs.add(`${proof} ${basis}`)
    if (proof === 'proven') expect({ seed, unread }).toEqual({ seed, unread: [] })
  }
  expect([...proofs]).toContain('settled seams')
})

test.each([
  ['the first three are missing', (reads: WindowAnswer[]) => reads.slice(3)],
  ['one between them is missing', (reads: WindowAnswer[]) => reads.toSpliced(3, 1)],
])('where %s, the recorded windows that link are not read again, and the others are', (_, kept) => {
  const { certificate, unread } = continued({ stopAfter: 7, kept })

  expect(certificate).toMatchObject({ proof: 'proven', distinct: 1030 })
  expect(unread).toEqual([])
})

test.each<[string, (reads: WindowAnswer[]) => WindowAnswer[]]>([
  ['no row', (reads) => reads.map((read) => ({ ...read, rows: [], total: 0 }))],
  ['more rows than its size', (reads) => reads.map((read) => ({ ...read, perPage: 50 }))],
])('a recorded window with %s is read again', (_, kept) => {
  const { certificate, unread } = continued({ stopAfter: 1, kept })

  expect(certificate).toMatchObject({ proof: 'proven', distinct: 1030 })
  expect(unread).toEqual([])
})

test('a scan interrupted twice, the second time after its last window, is not proven by a seam that hides what changed at the first', () => {
  const proofs = new Set<string>()
  for (let seed = 1; seed <= seeds(3000, { every: 300 }); seed++) {
    const luck = dice(seed)
    const list = new SimulatedList(luck, { size: 1030, order: 'name' })
    const service = { answer: list.answer.bind(list) }
    const first = drive(new ListScan(), service, { dice: luck, stopAfter: 1 + luck.below(11) })
    list.delete()
    list.insert()
    list.move()
    const second = drive(new ListScan({ recalled: asHandedBack(first.reads) }), service, { dice: luck })
    const scan = new ListScan({ recalled: asHandedBack([...first.reads, ...second.reads]) })
    const third = drive(scan, service, { dice: luck })
    const { proof, basis } = scan.certificate()
    const read = new Set([...first.ids, ...second.ids, ...third.ids])
    const unread = list.survivors().filter((id) => !read.has(id))
    proofs.add(`${proof} ${basis}`)
    if (proof === 'proven') expect({ seed, unread }).toEqual({ seed, unread: [] })
  }
  expect([...proofs]).toContain('settled seams')
})
