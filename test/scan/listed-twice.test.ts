import { expect, test } from 'vitest'
import { listScan } from '../../src/scan/list-scan.ts'
import { startOf, type Row, type Window } from '../../src/scan/window.ts'
import { customerId, START_MS } from '../support/builders.ts'
import { dice } from '../support/dice.ts'
import { drive } from '../support/drive-scan.ts'

test.each([
  [10, 57, 27, 5],
  [20, 107, 64, 17],
  [20, 167, 96, 13],
  [40, 207, 150, 25],
  [40, 327, 282, 41],
])(
  'in pages of %d, a list of %d is read to its end although the customer at %d is listed again %d places later',
  (pageSize, size, place, later) => {
    const customers = Array.from({ length: size }, (_, n): Row => ({ id: customerId(n), createdAt: createdAt(n) }))
    const list = customers.toSpliced(place + later, 0, ...customers.slice(place, place + 1))
    for (const parallel of [1, 4]) {
      const scan = listScan({ pageSize })
      drive(scan, { answer: (window) => answerOf(list, window) }, { dice: dice(1), parallel })

      const { proof, stoppedAt, distinct } = scan.certificate()
      expect({ proof, stoppedAt, distinct }).toEqual({ proof: 'unproven', stoppedAt: undefined, distinct: size })
    }
  },
)

function createdAt(n: number): string {
  return new Date(START_MS + n * 1_000_000).toISOString()
}

function answerOf(list: readonly Row[], window: Window) {
  const start = startOf(window)
  const rows = list.slice(start, start + window.size)
  return { window, rows, total: list.length, perPage: window.size, beyondEnd: start >= list.length }
}
