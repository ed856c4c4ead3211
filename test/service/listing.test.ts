import fc from 'fast-check'
import { expect, test } from 'vitest'
import { generateCustomers } from '../../src/service/customers.ts'
import { listPage, readListQuery } from '../../src/service/listing.ts'
import type { LargePages, ListQuery } from '../../src/service/listing.ts'
import { seeds } from '../support/seeds.ts'

const ADDRESS = 'http://127.0.0.1:4010/api/v1/customers'
const customers = generateCustomers({ seed: 'listing', count: 230 })

function query(text: string, largePages: LargePages = 'refuse'): ListQuery {
  const read = readListQuery(new URLSearchParams(text), largePages)
  if ('details' in read) throw new Error(`Refused: ${JSON.stringify(read.details)}`)
  return read.query
}

function page(text: string) {
  return listPage(customers, query(text), ADDRESS)
}

test('pages follow each other without a gap or an overlap, whatever their size', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 230 }), fc.integer({ min: 1, max: 100 }), (count, perPage) => {
      const all = customers.slice(0, count)
      const pages = Array.from({ length: Math.max(1, Math.ceil(count / perPage)) }, (_, index) =>
        listPage(all, { page: index + 1, perPage, search: '', language: '' }, ADDRESS),
      )
      expect(pages.flatMap(({ data }) => data)).toEqual(all)
      expect(pages.map(({ links }) => links.next !== null)).toEqual(pages.map((_, index) => index < pages.length - 1))
      for (const { meta, data } of pages) {
        expect(meta).toMatchObject({ last_page: pages.length, per_page: perPage, total: count })
        expect(data.length === 0 ? 0 : (meta.to ?? NaN) - (meta.from ?? NaN) + 1).toBe(data.length)
      }
    }),
    { numRuns: seeds(50) },
  )
})

test('without per_page a page has 15 customers', () => {
  expect(page('').meta).toEqual({ current_page: 1, from: 1, last_page: 16, per_page: 15, to: 15, total: 230 })
})

test('a page beyond the last is empty', () => {
  const { data, meta, links } = page('per_page=100&page=9')
  expect(data).toEqual([])
  expect(meta).toEqual({ current_page: 9, from: null, last_page: 3, per_page: 100, to: null, total: 230 })
  expect(links).toMatchObject({ prev: `${ADDRESS}?page=8`, next: null })
})

test('an empty list has one empty page', () => {
  expect(listPage([], query(''), ADDRESS)).toMatchObject({
    data: [],
    meta: { current_page: 1, from: null, last_page: 1, to: null, total: 0 },
    links: { first: `${ADDRESS}?page=1`, last: `${ADDRESS}?page=1`, prev: null, next: null },
  })
})

test.each(['0', '-1', 'abc', '02', '1.5', '99999999999999999999', ''])('page "%s" is page 1', (text) => {
  expect(query(`page=${text}`).page).toBe(1)
})

test('the last of repeated parameters counts', () => {
  expect(query('page=2&page=3&per_page=5&per_page=7')).toMatchObject({ page: 3, perPage: 7 })
})

test.each([
  ['101', 'The per page field must not be greater than 100.'],
  ['0', 'The per page field must be at least 1.'],
  ['-5', 'The per page field must be at least 1.'],
  ['abc', 'The per page field must be an integer.'],
  ['10.5', 'The per page field must be an integer.'],
  ['010', 'The per page field must be an integer.'],
])('per_page %s is invalid', (text, message) => {
  const parameters = new URLSearchParams({ per_page: text })
  expect(readListQuery(parameters, 'refuse')).toEqual({ details: { per_page: [message] } })
})

test('a large per_page is capped, or served, where the service is set to do so', () => {
  expect(query('per_page=500', 'cap').perPage).toBe(100)
  expect(query('per_page=500', 'serve').perPage).toBe(500)
  expect(query('per_page=40', 'cap').perPage).toBe(40)
})

test.each(['name', 'username', 'email'] as const)('search finds any part of the %s, in any case', (field) => {
  const wanted = customers[17]
  if (!wanted) throw new Error('too few customers')
  for (const part of [wanted[field], wanted[field].slice(1, -1), wanted[field].toUpperCase()]) {
    const found = page(`per_page=100&search=${encodeURIComponent(part)}`).data
    expect(found).toContainEqual(wanted)
    for (const { name, username, email } of found) {
      expect([name, username, email].join('\n').toLowerCase()).toContain(part.toLowerCase())
    }
  }
})

test('search looks into no other field, and takes % and _ as they are', () => {
  expect(page(`search=${encodeURIComponent(customers[3]?.id ?? '')}`).meta.total).toBe(0)
  expect(page('search=Europe/').meta.total).toBe(0)
  expect(page('search=%25').meta.total).toBe(0)
  expect(page('search=_').meta.total).toBe(0)
})

test('language keeps exactly the customers with that code', () => {
  const french = customers.filter(({ language }) => language === 'fr')
  expect(french.length).toBeGreaterThan(0)
  expect(page('per_page=100&language=fr')).toMatchObject({ data: french, meta: { total: french.length } })
  expect(page('language=f').meta.total).toBe(0)
  expect(page('language=FR').meta.total).toBe(0)
})
