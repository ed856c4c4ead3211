import { expect, test } from 'vitest'
import type { CustomersPage } from '../../src/source/customers-page.ts'
import { createRepeatedPages } from '../../src/source/repeated-pages.ts'

function aPage(page: number, size: number, records: unknown[]): CustomersPage {
  const told = { total: 900, lastPage: 9, bytes: 0, beyondEnd: false }
  return { page, size, askedSize: size, records: () => records, digest: undefined, ...told }
}

test('records seen under another number of the same size are refused', () => {
  const pages = createRepeatedPages()
  pages.refuse(aPage(1, 100, ['a', 'b']), 'here')
  expect(() => pages.refuse(aPage(3, 100, ['a', 'b']), 'here')).toThrow(/page 1 again/)
})

test.each([
  ['the same page again', aPage(1, 100, ['a', 'b'])],
  ['the same records in another order', aPage(2, 100, ['b', 'a'])],
  ['the same records at another size', aPage(2, 50, ['a', 'b'])],
])('%s is let through', (_, second) => {
  const pages = createRepeatedPages()
  pages.refuse(aPage(1, 100, ['a', 'b']), 'here')
  expect(() => pages.refuse(second, 'here')).not.toThrow()
})

test('empty pages are all alike, and a page of one moves with every deletion', () => {
  const pages = createRepeatedPages()
  for (const page of [7, 8]) pages.refuse(aPage(page, 100, []), 'here')
  for (const page of [7, 6]) expect(() => pages.refuse(aPage(page, 1, ['a']), 'here')).not.toThrow()
})

test('the last sixty-four pages are remembered, and no more', () => {
  const pages = createRepeatedPages()
  for (let page = 1; page <= 65; page += 1) pages.refuse(aPage(page, 100, [page, page]), 'here')
  expect(() => pages.refuse(aPage(90, 100, [2, 2]), 'here')).toThrow(/page 2 again/)
  expect(() => pages.refuse(aPage(91, 100, [1, 1]), 'here')).not.toThrow()
})
