import { describe, expect, test } from 'vitest'
import { decidePages, type DecidingRun, idsIn, type Known } from '../../../src/store/pages/decide-pages.ts'
import { RowSet } from '../../../src/model/row-set.ts'
import { aCustomer, aPage, aSortedCustomer, customerId } from '../../support/builders.ts'

const REJECTED = { email: {} }

test('a new customer is inserted under the next row number, and stands in the feed', () => {
  const { inserted, changes, saved } = decide([[aCustomer(1), aCustomer(2)]], { stored: [listed(7, 9)] })

  expect(inserted).toEqual([
    { rowId: 10, customer: aSortedCustomer(1) },
    { rowId: 11, customer: aSortedCustomer(2) },
  ])
  expect(changes).toEqual([
    { id: customerId(1), change: 'added', fields: null },
    { id: customerId(2), change: 'added', fields: null },
  ])
  expect(saved.pages).toEqual([{ rowIds: [10, 11], unchanged: new Set() }])
})

test('an initial sync records no change', () => {
  const decided = decide([[aCustomer(1), aCustomer(2, { name: 'Ada' })]], { stored: [listed(2)], isBaseline: true })

  expect(decided.saved.records).toMatchObject({ inserted: 1, updated: 1 })
  expect(decided.changes).toEqual([])
})

test('a customer that returns is a change even on an initial sync', () => {
  const decided = decide([[aCustomer(1)]], { stored: [removed(1)], isBaseline: true })

  expect(decided.changes).toEqual([{ id: customerId(1), change: 'returned', fields: null }])
})

describe('a customer that is stored', () => {
  test.each([
    ['as it was sent', listed(1), {}, { unchanged: 1 }, undefined, []],
    ['with another value', listed(1), { name: 'Ada' }, { updated: 1 }, true, ['changed']],
    ['as it was sent, and is missing', missing(1), {}, { updated: 1 }, false, []],
    ['with another value, and is missing', missing(1), { name: 'Ada' }, { updated: 1 }, true, ['changed']],
    ['as it was sent, and is removed', removed(1), {}, { updated: 1, returned: 1 }, false, ['returned']],
    ['with another value, and is removed', removed(1), { name: 'A' }, { updated: 1, returned: 1 }, true, ['returned']],
  ])('%s', (_, known, overrides, counts, isChanged, changes) => {
    const decided = decide([[aCustomer(1, overrides)]], { stored: [known] })

    expect(decided.saved.records).toMatchObject({ received: 1, inserted: 0, duplicates: 0, returned: 0, ...counts })
    expect(decided.updated.get(1)?.isChanged).toBe(isChanged)
    expect(decided.updated.get(1)?.isOwn).toBe(isChanged === undefined ? undefined : true)
    expect(decided.changes.map(({ change }) => change)).toEqual(changes)
    expect([...decided.present]).toEqual(known.isMissing ? [1] : [])
  })
})

describe('the second record of one customer', () => {
  const again: [string, object, object][] = [
    ['that is the same', {}, { duplicates: 1 }],
    ['that differs', { name: 'Ada' }, { duplicates: 1 }],
  ]
  test.each(again)('%s, on the same page, is a duplicate', (_, overrides, counts) => {
    const decided = decide([[aCustomer(1), aCustomer(1, { ...overrides })]])

    expect(decided.saved.records).toMatchObject({ received: 2, inserted: 1, ...counts })
    expect(decided.inserted.map(({ customer }) => customer.name)).toEqual(['Customer 1'])
    const isConflict = 'name' in overrides
    expect(decided.saved.warnings).toEqual(isConflict ? { conflicting_duplicate: 1 } : {})
    expect([...decided.edited]).toEqual(isConflict ? [1] : [])
  })

  test('on a later page, differs from the first one, which was stored', () => {
    const { saved, updated } = decide([[aCustomer(1, { name: 'Ada' })], [aCustomer(1)]], { stored: [listed(1)] })

    expect(saved.records).toMatchObject({ received: 2, updated: 1, duplicates: 1 })
    expect(saved.warnings).toEqual({ conflicting_duplicate: 1 })
    expect(saved.pages[1]?.unchanged).toEqual(new Set())
    expect(updated.get(1)?.customer.name).toBe('Ada')
  })

  test('that the run read before, is a duplicate', () => {
    const { saved, edited } = decide([[aCustomer(1, { name: 'Ada' })]], { stored: [listed(1)], seen: [1] })

    expect(saved.records).toMatchObject({ received: 1, updated: 0, duplicates: 1 })
    expect([...edited]).toEqual([1])
  })

  test('that is known to be as stored, while another one was written, is a conflict', () => {
    const page = aPage(2, [])
    const { saved, edited } = decidePages(
      aRun({}),
      [aPage(1, [aCustomer(1, { name: 'Ada' })]), { ...page, received: 1, known: [1], rowIds: [1] }],
      { customers: byId([listed(1)]), lastRowId: 1 },
    )

    expect(saved.records).toMatchObject({ received: 2, updated: 1, duplicates: 1 })
    expect([...edited]).toEqual([1])
  })

  test.each([
    ['was written by an earlier transaction of the run, is a conflict', [1], { conflicting_duplicate: 1 }],
    ['was received before as it is, is none', [], {}],
  ])('that is known to be as stored, while another one %s', (_, written, warnings) => {
    const run = { ...aRun({ seen: [1] }), written: setOf(written) }
    const page = { ...aPage(2, []), received: 1, known: [1], rowIds: [1] }
    const { saved, edited } = decidePages(run, [page], { customers: byId([listed(1)]), lastRowId: 1 })

    expect(saved.records).toMatchObject({ received: 1, duplicates: 1 })
    expect(saved.warnings).toEqual(warnings)
    expect([...edited]).toEqual(written)
  })
})

describe('a customer who was read before the interruption', () => {
  test.each([
    ['as stored, is a duplicate', listed(1), {}, { duplicates: 1 }, 0, []],
    [
      'with another value, is updated: that record is newer',
      listed(1),
      { name: 'Ada' },
      { updated: 1 },
      1,
      ['changed'],
    ],
    ['as stored, and a quick run missed it meanwhile, is listed', missing(1), {}, { updated: 1 }, 1, []],
  ])('received again %s', (_, known, overrides, counts, writtenAgain, changes) => {
    const decided = decide([[aCustomer(1, overrides)]], { stored: [known], readBefore: [1] })

    expect(decided.saved.records).toMatchObject({ received: 1, unchanged: 0, updated: 0, duplicates: 0, ...counts })
    expect(decided.saved).toMatchObject({ writtenAgain, warnings: {} })
    expect(decided.changes.map(({ change }) => change)).toEqual(changes)
    expect([...decided.edited]).toEqual([])
  })

  test.each([
    ['with another value', { name: 'Ada' }, 'Ada', { updated: 1, duplicates: 1 }],
    ['as stored', {}, undefined, { updated: 0, duplicates: 2 }],
  ])('received again %s, keeps the first record that this run receives', (_, overrides, name, counts) => {
    const pages = [[aCustomer(1, overrides)], [aCustomer(1, { name: 'Bo' })]]
    const { saved, updated, edited } = decide(pages, { stored: [listed(1)], readBefore: [1] })

    expect(saved.records).toMatchObject({ received: 2, ...counts })
    expect(saved.warnings).toEqual({ conflicting_duplicate: 1 })
    expect(updated.get(1)?.customer.name).toBe(name)
    expect([...edited]).toEqual([1])
  })

  test('recognized as stored, is a duplicate, and a later record with another value is one too', () => {
    const page = { ...aPage(1, []), received: 1, known: [1], rowIds: [1] }
    const { saved, updated, edited } = decidePages(
      aRun({ readBefore: [1] }),
      [page, aPage(2, [aCustomer(1, { name: 'Ada' })])],
      { customers: byId([listed(1)]), lastRowId: 1 },
    )

    expect(saved.records).toMatchObject({ received: 2, unchanged: 0, updated: 0, duplicates: 2 })
    expect([...updated]).toEqual([])
    expect([...edited]).toEqual([1])
  })
})

describe('a reject', () => {
  test('of a listed customer leaves it as it is', () => {
    const decided = decide([[aCustomer(1, REJECTED)]], { stored: [listed(1)] })

    expect(decided.saved.records).toMatchObject({ rejected: 1, returned: 0 })
    expect([...decided.updated]).toEqual([])
    expect([...decided.rejects.values()]).toMatchObject([{ recordId: customerId(1), page: 1, position: 0 }])
  })

  test('of a missing customer marks it as listed, and the row is not one that the run has written', () => {
    const decided = decide([[aCustomer(1, REJECTED)]], { stored: [missing(1)] })

    expect(decided.updated.get(1)).toEqual({ customer: aSortedCustomer(1), isChanged: false, isOwn: false })
    expect([...decided.present]).toEqual([1])
    expect(decided.changes).toEqual([])
  })

  test('of a removed customer brings it back with its last good values', () => {
    const decided = decide([[aCustomer(1, REJECTED)]], { stored: [removed(1)] })

    expect(decided.saved.records).toMatchObject({ rejected: 1, returned: 1 })
    expect(decided.updated.get(1)).toEqual({ customer: aSortedCustomer(1), isChanged: false, isOwn: true })
    expect(decided.changes).toEqual([{ id: customerId(1), change: 'returned', fields: null }])
  })

  test('and then a good record of the same removed customer return it once', () => {
    const decided = decide([[aCustomer(1, REJECTED)], [aCustomer(1, { name: 'Ada' })]], { stored: [removed(1)] })

    expect(decided.saved.records).toMatchObject({ received: 2, rejected: 1, updated: 1, returned: 1 })
    expect(decided.updated.get(1)).toMatchObject({ customer: { name: 'Ada' }, isChanged: true, isOwn: true })
    expect(decided.changes.map(({ change }) => change)).toEqual(['returned', 'changed'])
  })

  test('without an id is counted each time, and kept once', () => {
    const decided = decide([['nonsense'], ['nonsense']])

    expect(decided.saved.records).toMatchObject({ received: 2, rejected: 2 })
    expect([...decided.rejects.values()]).toMatchObject([{ recordId: null, page: 2 }])
  })
})

test('a removal that was held back is released when its customer is received, also as a reject', () => {
  const stored = [listed(1), listed(2), listed(3)]
  const { released } = decide([[aCustomer(1), aCustomer(2, REJECTED)]], { stored, held: [1, 2, 3] })

  expect(released).toEqual(new Set([1, 2]))
})

test('a window that is read twice is recorded as last read, and a quick run records none', () => {
  const window = { page: 1, size: 100, perPage: 100, total: 2, lastPage: 1, beyondEnd: false }
  const pages = [[aCustomer(1)], [aCustomer(2)]].map((records) => ({ ...aPage(1, records), window }))

  const { windows } = decidePages(aRun({}), pages, { customers: new Map(), lastRowId: 0 })
  const quick = decidePages(aRun({ isQuick: true }), pages, { customers: new Map(), lastRowId: 0 })

  expect([...windows.values()]).toEqual([{ window, rows: { rowIds: [2], rejected: [] } }])
  expect(quick.windows.size).toBe(0)
})

test('nothing that is given to it is changed, so that the same pages can be decided about again', () => {
  const run = aRun({ held: [1] })
  const stored = { customers: byId([missing(1)]), lastRowId: 1 }
  const pages = [aPage(1, [aCustomer(1, { name: 'Ada' }), aCustomer(2), aCustomer(3, REJECTED)])]
  const before = structuredClone({ run: { ...run, seen: [...run.seen] }, stored })

  const first = decidePages(run, pages, stored)
  const second = decidePages(run, pages, stored)

  expect({ run: { ...run, seen: [...run.seen] }, stored }).toEqual(before)
  expect(second.saved.records).toEqual(first.saved.records)
  expect(second.inserted).toEqual(first.inserted)
})

test('the customers to look up are those of the records and of the rejects with an id', () => {
  expect(idsIn([aPage(1, [aCustomer(1), aCustomer(2, REJECTED), 'nonsense']), aPage(2, [aCustomer(1)])])).toEqual(
    new Set([customerId(1), customerId(2)]),
  )
})

type Setting = { isQuick?: boolean; isBaseline?: boolean; seen?: number[]; readBefore?: number[]; held?: number[] }

function decide(pages: readonly (readonly unknown[])[], { stored = [], ...run }: Setting & { stored?: Known[] } = {}) {
  const lastRowId = Math.max(0, ...stored.map(({ rowId }) => rowId))
  const sorted = pages.map((records, index) => aPage(index + 1, records))
  return decidePages(aRun(run), sorted, { customers: byId(stored), lastRowId })
}

function aRun({ isQuick = false, isBaseline = false, seen = [], readBefore = [], held = [] }: Setting): DecidingRun {
  const rows = setOf([...readBefore, ...seen])
  return {
    ...{ organization: 'acme', isQuick, isBaseline, seen: rows, receivedSince: setOf(seen), written: new RowSet() },
    ...{ rejectedIds: new Set(), suppressed: new Set(), heldRows: new Set(held), privacy: undefined },
  }
}

function setOf(rowIds: readonly number[]): RowSet {
  const rows = new RowSet()
  for (const rowId of rowIds) rows.add(rowId)
  return rows
}

function byId(stored: readonly Known[]): Map<string, Known> {
  return new Map(stored.map((known) => [known.customer.id, known]))
}

function listed(n: number, rowId = n): Known {
  return { rowId, customer: aSortedCustomer(n), isMissing: false, isRemoved: false }
}

function missing(n: number): Known {
  return { ...listed(n), isMissing: true }
}

function removed(n: number): Known {
  return { ...listed(n), isMissing: true, isRemoved: true }
}
