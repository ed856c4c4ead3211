import { expect, test } from 'vitest'
import { listScan } from '../../src/scan/list-scan.ts'
import type { Window } from '../../src/scan/window.ts'
import { CappedList, CAPS, type Cap } from '../support/capped-list.ts'
import { dice } from '../support/dice.ts'
import { drive } from '../support/drive-scan.ts'
import { seeds } from '../support/seeds.ts'
import { wronglyCertified } from '../support/capped-nights.ts'

const BY_CREATION = { order: 'created asc, id asc' } as const

test.each([
  [1000, 'rows'],
  [1000, 'not-found'],
  [10_000, 'rows'],
] as const)('where the service shows %d customers of more (%s), nothing is certified', (most, cap) => {
  const night = new CappedList(1, { ...BY_CREATION, size: most + 500 }).night({ most, cap })

  expect(night.certificate).toMatchObject({ proof: 'unproven', reasons: ['capped-total'] })
  expect(night.certificate.stoppedAt).toBeUndefined()
  expect(night.read).toBe(most)
})

test('where every page that reaches behind the cap fails, the rows before it are read, and nothing is certified', () => {
  const night = new CappedList(1, { ...BY_CREATION, size: 1500 }).night({ most: 1000, cap: 'error' })

  expect(night.certificate).toMatchObject({ proof: 'unproven', reasons: ['hole', 'capped-total'] })
  expect(night.certificate.stoppedAt).toBeUndefined()
  expect(night.read).toBe(1000)
  expect(night.requests).toBeLessThan(60)
})

test.each([1500, 20_000])('where only the total is capped, all %d customers behind it are read', (size) => {
  const night = new CappedList(1, { ...BY_CREATION, size }).night({ most: size > 10_000 ? 10_000 : 1000, cap: 'total' })

  expect(night.certificate).toMatchObject({ proof: 'unproven', reasons: ['total-mismatch', 'capped-total'] })
  expect(night.lost).toBe(0)
})

test('a list of exactly a thousand customers that was longer during the scan is proven', () => {
  const { list, ...capped } = aList(1001)
  let answers = 0
  const night = capped.night({ most: 5000, cap: 'rows' }, () => (answers += 1) === 5 && list.delete())

  expect(list.size).toBe(1000)
  expect(night.certificate).toMatchObject({ proof: 'proven', reasons: [], total: 1000 })
})

test('a cap that cuts a list known in full is noticed, and so is the end of the cap', () => {
  const { list, ...capped } = aList(1003)
  expect(capped.night({ most: 5000, cap: 'rows' }).certificate.proof).toBe('proven')
  for (let night = 1; night <= 2; night += 1) {
    expect(capped.night({ most: 1000, cap: 'rows' }).certificate).toMatchObject({ reasons: ['capped-total'] })
  }
  expect(capped.night({ most: 5000, cap: 'rows' }).certificate.proof).toBe('proven')
  list.delete(3, 1000)

  // The end that was known is gone, so nothing shows whether these are all.
  expect(capped.night({ most: 1000, cap: 'rows' }).certificate.proof).toBe('unproven')
})

test.each([999, 1001, 2000, 5000, 9999])('a list of %d customers is not taken for a capped one', (size) => {
  expect(aList(size).night({ most: 100_000, cap: 'rows' }).certificate.proof).toBe('proven')
})

test('no list behind a cap is certified while a customer is unread, night after night', () => {
  expect(wronglyCertified(seeds(120))).toEqual([])
})

test.each(CAPS)('a plain scan reads what a service serves behind a capped total (%s), and ends', (cap: Cap) => {
  const scan = listScan({ isPlain: true })
  const served = cap === 'total' ? 1350 : 1000
  const answer = ({ page, size }: Window) => {
    const start = size * (page - 1)
    const rows = Array.from({ length: Math.max(0, Math.min(size, served - start)) }, (_, at) => ({
      ...{ id: `customer ${start + at}`, createdAt: undefined },
    }))
    const read = { window: { page, size }, rows, perPage: size }
    if (cap === 'error' && start >= 1000) return 'hole'
    if (cap === 'not-found' && start >= 1000) return { ...read, total: undefined, beyondEnd: true }
    return { ...read, total: 1000, beyondEnd: false }
  }
  const { ids, requests } = drive(scan, { answer }, { dice: dice(1), parallel: 4 })

  expect(scan.certificate()).toMatchObject({ reasons: ['plain-scan'], stoppedAt: undefined })
  expect(ids.size).toBe(served)
  expect(requests).toBeLessThan(16)
})

function aList(size: number): Pick<CappedList, 'list' | 'night'> {
  const capped = new CappedList(1, { ...BY_CREATION, size })
  return { list: capped.list, night: capped.night.bind(capped) }
}
