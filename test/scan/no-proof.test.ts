import { expect, test } from 'vitest'
import { listScan } from '../../src/scan/list-scan.ts'
import type { Window, WindowAnswer } from '../../src/scan/window.ts'
import { dice } from '../support/dice.ts'
import { drive } from '../support/drive-scan.ts'

/** A page of customers who are only numbered. */
function aRead(numbers: readonly number[], total: number, window: Window = { page: 1, size: 100 }): WindowAnswer {
  const rows = numbers.map((number) => ({ id: `customer ${String(number).padStart(5, '0')}`, createdAt: undefined }))
  return { window, rows, total, perPage: window.size, beyondEnd: false }
}

function numbersIn({ page, size }: Window, total: number): number[] {
  return Array.from({ length: total }, (_, number) => number).slice(size * (page - 1), size * page)
}

test.each([2, 40, 99])(
  'one page of %d rows that holds the whole list, and one customer twice, proves nothing',
  (rows) => {
    const numbers = [...numbersIn({ page: 1, size: rows - 1 }, rows), rows - 2]
    const scan = listScan()
    drive(scan, { answer: (window) => aRead(numbers, rows, window) }, { dice: dice(1) })

    expect(scan.certificate()).toMatchObject({ proof: 'unproven', reasons: expect.arrayContaining(['duplicate-id']) })
  },
)

test('a quiet list is not proven when one page read a customer twice, once, and was whole when asked for again', () => {
  let answers = 0
  const answer = (window: Window): WindowAnswer => {
    const numbers = numbersIn(window, 250)
    answers += 1
    // The first answer has the last of its rows twice, and all the others are honest.
    return aRead(answers === 1 ? [...numbers.slice(0, -1), numbers.at(-2) ?? 0] : numbers, 250, window)
  }
  const scan = listScan()
  drive(scan, { answer }, { dice: dice(1) })

  expect(scan.certificate().proof).not.toBe('proven')
  expect(scan.certificate().reasons).toContain('duplicate-id')
})

test('over pages of fixed sizes, a total that changes now and then is never certified', () => {
  for (const parallel of [1, 4]) {
    let answers = 0
    const answer = (window: Window) => {
      if (window.size !== 50 && window.size !== 100) return 'size-refused'
      answers += 1
      return aRead(numbersIn(window, 450), answers % 4 === 3 ? 451 : 450, window)
    }
    const scan = listScan()
    drive(scan, { answer }, { dice: dice(1), parallel })

    expect(scan.certificate().proof).toBe('unproven')
  }
})

test('a plain scan says that a page came empty although the total promises more', () => {
  const scan = listScan({ isPlain: true })
  const answer = (window: Window) => aRead(window.page > 2 ? [] : numbersIn(window, 600), 600, window)
  drive(scan, { answer }, { dice: dice(1), parallel: 4 })

  expect(scan.certificate()).toMatchObject({ proof: 'unproven', reasons: ['plain-scan', 'short-page'] })
})

test('a plain scan whose last page is short came to the end, whatever more its total promises', () => {
  const scan = listScan({ isPlain: true })
  const answer = (window: Window) => aRead(numbersIn(window, 250), 600, window)
  drive(scan, { answer }, { dice: dice(1), parallel: 4 })

  expect(scan.certificate()).toMatchObject({ reasons: ['plain-scan', 'short-page'], stoppedAt: undefined })
})

test('a plain scan whose pages become smaller on the way did not come to the end', () => {
  const scan = listScan({ isPlain: true })
  const answer = (window: Window) => {
    const served = window.page > 2 ? { page: window.page, size: 40 } : window
    return { ...aRead(numbersIn(served, 600), 600, window), perPage: served.size }
  }
  drive(scan, { answer }, { dice: dice(1) })

  expect(scan.certificate()).toMatchObject({ proof: 'unproven', stoppedAt: { failure: 'page-mismatch' } })
})

test('a plain scan of pages that are capped from the first on comes to the end', () => {
  const scan = listScan({ isPlain: true })
  const answer = (window: Window) => {
    const served = { page: window.page, size: Math.min(window.size, 40) }
    return { ...aRead(numbersIn(served, 600), 600, window), perPage: served.size }
  }
  const { ids } = drive(scan, { answer }, { dice: dice(1), parallel: 4 })

  expect(scan.certificate()).toMatchObject({ reasons: ['plain-scan'], stoppedAt: undefined })
  expect(ids.size).toBe(600)
})
