import { expect, test } from 'vitest'
import { RepeatedWindows } from '../../../src/scan/window/repeated-windows.ts'

/** A window whose records have these ids; undefined is a record without a readable one. */
function aWindow(page: number, size: number, ids: (string | undefined)[], total = 900) {
  return { start: size * (page - 1), total, all: ids.map((id) => ({ id, createdAt: undefined })) }
}

const FIRST = aWindow(1, 100, ['a', 'b', 'c'])

test.each([
  ['under another number', aWindow(3, 100, ['a', 'b', 'c'])],
  ['in another size, as far as they go', aWindow(3, 2, ['a', 'b'])],
])('rows that come again %s are a repetition', (_, again) => {
  const windows = new RepeatedWindows()
  expect(windows.isRepeated(FIRST)).toBe(false)
  expect(windows.isRepeated(again)).toBe(true)
})

test('rows are compared by where they are stored, where that is known', () => {
  const windows = new RepeatedWindows()
  expect(windows.isRepeated({ start: 0, total: 900, all: [7, { id: 'x', createdAt: undefined, rowId: 8 }] })).toBe(
    false,
  )
  expect(windows.isRepeated({ start: 100, total: 900, all: [7, 8] })).toBe(true)
})

test.each([
  ['the same page again', FIRST],
  ['the same rows in another order', aWindow(2, 100, ['a', 'c', 'b'])],
  ['the same rows of a list that has become shorter', aWindow(2, 100, ['a', 'b', 'c'], 800)],
  ['the same last rows in another size, at the same position', aWindow(1, 50, ['a', 'b'])],
  ['a page of one row, which moves with every deletion', aWindow(2, 1, ['a'])],
])('%s is let through', (_, second) => {
  const windows = new RepeatedWindows()
  windows.isRepeated(FIRST)
  expect(windows.isRepeated(second)).toBe(false)
})

test('pages without a row, or without a readable id, are all alike and none is a repetition', () => {
  const windows = new RepeatedWindows()
  for (const page of [7, 8]) {
    expect(windows.isRepeated(aWindow(page, 100, []))).toBe(false)
    expect(windows.isRepeated(aWindow(page, 100, [undefined, undefined]))).toBe(false)
  }
})

test('the last sixty-four pages are remembered, and no more', () => {
  const windows = new RepeatedWindows()
  for (let page = 1; page <= 65; page += 1) windows.isRepeated(aWindow(page, 100, [`a${page}`, `b${page}`]))
  expect(windows.isRepeated(aWindow(90, 100, ['a2', 'b2']))).toBe(true)
  expect(windows.isRepeated(aWindow(91, 100, ['a1', 'b1']))).toBe(false)
})
