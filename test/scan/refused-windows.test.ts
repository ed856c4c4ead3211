import { expect, test } from 'vitest'
import { listScan } from '../../src/scan/list-scan.ts'
import type { Window, WindowAnswer } from '../../src/scan/window.ts'
import { dice } from '../support/dice.ts'
import { drive, type Service } from '../support/drive-scan.ts'
import { SimulatedList } from '../support/simulated-list.ts'

type Answer = ReturnType<Service['answer']>

function scanOf(parallel: number, answer: (list: SimulatedList, window: Window) => Answer) {
  const luck = dice(5)
  const list = new SimulatedList(luck, { size: 600, order: 'id asc' })
  const scan = listScan()
  const { requests } = drive(scan, { answer: (window) => answer(list, window) }, { dice: luck, parallel })
  return { requests, certificate: scan.certificate() }
}

function notFound(window: Window): WindowAnswer {
  return { window, rows: [], total: undefined, perPage: window.size, beyondEnd: true }
}

const REFUSALS: [string, string, (window: Window) => Answer][] = [
  ['404', 'not-found', notFound],
  ['another page', 'page-mismatch', () => 'page-mismatch'],
]

test.each(REFUSALS)(
  '%s for page 2 in every size, while hardly a page behind it is served: %s, soon',
  (_, failure, refuse) => {
    for (const parallel of [1, 2, 4, 6]) {
      for (const last of [2, 3]) {
        const { certificate, requests } = scanOf(parallel, (list, window) =>
          window.page === 2 || window.page > last ? refuse(window) : list.answer(window),
        )
        expect(certificate).toMatchObject({ proof: 'unproven', stoppedAt: { failure } })
        expect(requests).toBeLessThan(30)
      }
    }
  },
)

test('pages without a row where rows of the page before should stand, and more are promised, are not the end', () => {
  for (const parallel of [1, 4]) {
    for (const from of [2, 3, 5]) {
      const { certificate } = scanOf(parallel, (list, window) => {
        const answer = list.answer(window)
        return window.page < from ? answer : { ...answer, rows: [] }
      })
      expect(certificate).toMatchObject({ proof: 'unproven', stoppedAt: { failure: 'not-found' } })
    }
  }
})

test('a total that promises more than the list has is no sign that it was not read to its end', () => {
  const { certificate } = scanOf(4, (list, window) => ({ ...list.answer(window), total: 900 }))
  expect(certificate).toMatchObject({ proof: 'unproven', reasons: ['short-page'], stoppedAt: undefined, distinct: 600 })
})
