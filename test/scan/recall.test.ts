import { expect, test } from 'vitest'
import { ListScan } from '../../src/scan/list-scan.ts'
import type { Window, WindowAnswer } from '../../src/scan/window.ts'
import { type Dice, dice } from '../support/dice.ts'
import { drive, type Service } from '../support/drive-scan.ts'
import { asHandedBack, honest, scanOf, SERVICES } from './scanned-services.ts'
import { seeds } from '../support/seeds.ts'
import { type ListOrder, SimulatedList } from './simulated-list.ts'

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
  for (let seed = 1; seed <= seeds(20, { least: 3 }); seed++) {
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

test('an undisturbed scan stopped after any window reads only the ends of the list again', () => {
  for (let stopAfter = 1; stopAfter <= 12; stopAfter++) {
    const { certificate, requests, wholeRequests } = continued({ stopAfter })
    expect(certificate).toMatchObject({ proof: 'proven', distinct: 1030 })
    expect(requests).toBeLessThanOrEqual(wholeRequests() + 2)
  }
})

test('a list that looks still across an interruption is not proven by that: moves in the meantime may cancel out', () => {
  const proofs = new Set<string>()
  for (let seed = 1; seed <= seeds(600, { every: 20 }); seed++) {
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

test('an undisturbed list is settled, where no order vouches for it', () => {
  const { certificate, requests, wholeRequests } = continued({ stopAfter: 5, order: 'name' })

  expect(certificate).toMatchObject({ proof: 'settled', reasons: ['no-witness'] })
  // The top is read once more: in a list by last change, those who changed meanwhile are there.
  expect(requests).toBe(wholeRequests() + 1)
})

test('a list with as many new customers as deleted ones since the interruption is not read again for the sake of its total', () => {
  for (let stopAfter = 3; stopAfter <= 10; stopAfter++) {
    const { certificate } = continued({
      stopAfter,
      meanwhile: (list) => {
        for (let change = 0; change < 20; change++) list.delete()
        for (let change = 0; change < 20; change++) list.insert()
      },
    })
    expect(certificate).toMatchObject({ proof: 'proven' })
  }
})

test('a scan whose service refuses large pages goes on in the size it had found, and is proven', () => {
  for (let stopAfter = 2; stopAfter <= 12; stopAfter++) {
    const { certificate, requests, wholeRequests } = continued({
      stopAfter,
      answer: (list, window) => (window.size > 50 ? 'size-refused' : list.answer(window)),
    })
    expect(certificate).toMatchObject({ proof: 'proven', distinct: 1030 })
    expect(requests).toBeLessThanOrEqual(wholeRequests() + 2)
  }
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

test('a scan that is not done is unproven, because interrupted', () => {
  const luck = dice(1)
  const list = new SimulatedList(luck, { size: 400, order: 'id asc' })
  const scan = new ListScan()
  drive(scan, { answer: list.answer.bind(list) }, { dice: luck, stopAfter: 3 })
  expect(scan.certificate()).toMatchObject({ proof: 'unproven', reasons: ['interrupted'] })
})

test('an empty list is proven to be empty', () => {
  const luck = dice(1)
  const list = new SimulatedList(luck, { size: 0, order: 'id asc' })
  const scan = new ListScan()
  drive(scan, { answer: list.answer.bind(list) }, { dice: luck })
  expect(scan.certificate()).toMatchObject({ proof: 'proven', basis: 'one-page', requests: 1, distinct: 0 })
})

test.each<['created at the same second' | 'without a creation time']>([
  ['created at the same second'],
  ['without a creation time'],
])('rows ordered by id and all %s are no ties: deletions between pages are repaired in few requests', (which) => {
  for (const parallel of [1, 4]) {
    const luck = dice(parallel)
    const list = new SimulatedList(luck, { size: 1000, order: 'id asc' })
    const createdAt = which === 'without a creation time' ? undefined : '2026-01-01T00:00:00Z'
    let answered = 0
    const answer = (window: Window): WindowAnswer => {
      answered += 1
      if (answered === 4) for (let gone = 0; gone < 40; gone += 1) list.delete()
      const read = list.answer(window)
      return { ...read, rows: read.rows.map((row) => ({ ...row, createdAt })) }
    }
    const scan = new ListScan()
    const { ids, requests } = drive(scan, { answer }, { dice: luck, parallel })

    expect(scan.certificate()).toMatchObject({ proof: 'proven', reasons: [] })
    expect(list.survivors().filter((id) => !ids.has(id))).toEqual([])
    expect(requests).toBeLessThan(25)
  }
})

test('recalled windows larger than the page size of this run are read again side by side', () => {
  const luck = dice(1)
  const list = new SimulatedList(luck, { size: 430, order: 'name' })
  // The service serves 100 rows whatever is asked for.
  const answer = ({ page }: Window) => list.answer({ page, size: 100 })
  const first = drive(new ListScan(), { answer }, { dice: luck, stopAfter: 2 })
  const recalled = first.reads.map((read) => ({ ...read, window: { page: read.window.page, size: 50 } }))
  const scan = new ListScan({ pageSize: 50, recalled })
  drive(scan, { answer: (window) => ({ ...answer(window), window }) }, { dice: luck })

  expect(scan.certificate()).toMatchObject({ proof: 'unproven', reasons: ['no-overlap'] })
})

test('a scan interrupted twice, the second time after its last window, is not proven by a seam that hides what changed at the first', () => {
  const proofs = new Set<string>()
  for (let seed = 1; seed <= seeds(3000, { every: 150 }); seed++) {
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

test.each(['sizes rounded to tens', 'another size at every answer', 'smaller pages from the fourth answer on'])(
  '%s, seen only when the ends are read again after an interruption, costs no more than the proof',
  (name) => {
    for (const stopAfter of [1, 2, 3]) {
      const scanned = scanOf(SERVICES[name] ?? honest, { size: 101, parallel: 3, seed: 3, stopAfter })
      expect({ name, stopAfter, lost: scanned.lost }).toEqual({ name, stopAfter, lost: 0 })
    }
  },
)
