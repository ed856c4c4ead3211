import { expect, test } from 'vitest'
import { listScan } from '../../src/scan/list-scan.ts'
import type { Window } from '../../src/scan/window.ts'
import { dice } from '../support/dice.ts'
import { drive } from '../support/drive-scan.ts'
import { seeds } from '../support/seeds.ts'
import { type ListOrder, SimulatedList } from '../support/simulated-list.ts'

type Behind = { rows?: number; order?: ListOrder; parallel?: number; churn?: boolean; plain?: boolean }

/** A scan of a service behind a cache that holds some windows; with what it asked for. */
function scanBehind(isCached: (window: Window, asked: number) => boolean, options: Behind = {}) {
  const { rows = 950, order = 'id asc', parallel = 1, churn = false, plain = false } = options
  const luck = dice(11)
  const list = new SimulatedList(luck, { size: rows, order })
  const scan = plain ? listScan({ isPlain: true }) : listScan()
  const asked: string[] = []
  const service = {
    between: () => {
      if (!churn) return
      list.insert()
      list.delete()
    },
    answer: (window: Window) => {
      asked.push(`${window.page}/${window.size}`)
      return isCached(window, asked.length) ? ('cached-answer' as const) : list.answer(window)
    },
  }
  const ride = drive(scan, service, { dice: luck, parallel })
  const lost = list.survivors().filter((id) => !ride.ids.has(id)).length
  return { ...ride, asked, lost, certificate: scan.certificate() }
}

test.each([1, 2, 7, 10])(
  'window number %i out of a cache is asked for once more in another size, and all is proven',
  (turn) => {
    for (const churn of [false, true]) {
      const { certificate, asked, lost } = scanBehind((_, number) => number === turn, { churn })
      expect(certificate).toMatchObject({ proof: 'proven', reasons: [], holes: [] })
      expect(lost).toBe(0)
      // With rows that come and go, both ends are read once more.
      if (!churn) expect(new Set(asked).size).toBe(asked.length)
    }
  },
)

test.each(['id asc', 'created asc, id asc', 'name', 'last change desc', 'shuffled'] as const)(
  'a list by %s whose middle always comes from a cache is not proven, and reports the reason',
  (order) => {
    const holdsMiddle = ({ page, size }: Window) => (page - 1) * size <= 500 && 500 < page * size
    for (const parallel of [1, 4]) {
      const { certificate, requests } = scanBehind(holdsMiddle, { order, parallel })
      expect(certificate.proof).toBe('unproven')
      expect(certificate.reasons).toContain('cached-answer')
      expect(requests).toBeLessThan(60)
    }
  },
)

test.each([0, 1, 99, 250, 950])(
  'a list of %i that comes completely from a cache ends soon, unproven and not empty',
  (rows) => {
    for (const parallel of [1, 4]) {
      const { certificate, requests } = scanBehind(() => true, { rows, parallel })
      expect(certificate).toMatchObject({ proof: 'unproven', reasons: ['cached-answer'], empty: false })
      expect(requests).toBeLessThan(15)
    }
  },
)

test('the ends that are read once more are asked for in another size where a cache holds them', () => {
  const seen = new Set<string>()
  const isSeen = ({ page, size }: Window) => {
    const isAgain = seen.has(`${page}/${size}`)
    seen.add(`${page}/${size}`)
    return isAgain
  }
  const { certificate, asked, lost } = scanBehind(isSeen, { churn: true })
  expect(certificate).toMatchObject({ proof: 'proven', basis: 'witness' })
  expect(asked).toContain('1/99')
  expect(lost).toBe(0)
})

test('a list read page by page, with one out of a cache, goes on to its end', () => {
  const { certificate, ids } = scanBehind(({ page }) => page === 4, { plain: true })
  expect(certificate.reasons).toEqual(['plain-scan', 'cached-answer'])
  expect(ids.size).toBe(850)
})

test('whatever a cache holds, no proof lacks a customer who was listed throughout', () => {
  const luck = dice(20_240_229)
  let proven = 0
  const scans = seeds(200, { every: 4 })
  for (let scan = 0; scan < scans; scan += 1) {
    const share = luck.next() * 0.4
    const { certificate, lost } = scanBehind(() => luck.chance(share), {
      rows: luck.below(1500),
      churn: true,
      parallel: 4,
    })
    if (certificate.proof === 'proven') proven += 1
    if (certificate.proof !== 'unproven') expect(lost).toBe(0)
    else expect(certificate.reasons).not.toEqual([])
  }
  expect(proven).toBeGreaterThan(scans / 4)
})
