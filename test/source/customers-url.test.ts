import fc from 'fast-check'
import { expect, test } from 'vitest'
import { UsageError } from '../../src/errors/errors.ts'
import { canonicalQuery, customersUrl, placeOf, refuseUnencrypted } from '../../src/source/customers-url.ts'

test.each([
  'https://acme.example.com/api/v1',
  'https://acme.example.com/api/v1/',
  'https://u:p@acme.example.com/api/v1?x=1#y',
])('the page of %s is asked for below its path, with a sorted query and nothing else', (base) => {
  expect(customersUrl(new URL(base), { page: 2, size: 100 }).href).toBe(
    'https://acme.example.com/api/v1/customers?page=2&per_page=100',
  )
})

test('a path that looks like a host stays a path', () => {
  expect(customersUrl(new URL('https://acme.example.com//other.example.com'), { page: 1, size: 1 }).host).toBe(
    'acme.example.com',
  )
})

test('a place names where a request went without what the base address holds besides', () => {
  const asked = { page: 2, size: 50 }
  const url = customersUrl(new URL('https://user:hidden@acme.example.com/api/v1?token=hidden'), asked)
  expect(placeOf(url, asked)).toBe('GET https://acme.example.com/api/v1/customers (page 2, per_page 50)')
})

test('a canonical query is sorted, holds unreserved characters only, and reads back', () => {
  expect(canonicalQuery({ b: "it's (all)*!", a: 'ü ~' })).toBe('a=%C3%BC%20~&b=it%27s%20%28all%29%2A%21')
  const text = fc.string({ unit: 'grapheme' })
  fc.assert(
    fc.property(fc.dictionary(text, text), (parameters) => {
      const query = canonicalQuery(parameters)
      expect(query).toMatch(/^[\w.~%=&-]*$/)
      // The parser of URLs must not change a byte of what is signed.
      expect(new URL(`https://acme.example.com/?${query}`).search.slice(1)).toBe(query)
      expect(Object.fromEntries(new URLSearchParams(query))).toEqual({ ...parameters })
    }),
  )
})

test.each(['https://acme.example.com/', 'http://127.0.0.1:8080/', 'http://localhost/', 'http://[::1]:1/'])(
  '%s may be signed for',
  (address) => {
    expect(() => refuseUnencrypted(new URL(address))).not.toThrow()
  },
)

test.each([
  'http://acme.example.com/',
  'http://127.0.0.1.example.com/',
  'http://localhost.example.com/',
  'ftp://127.0.0.1/',
])('%s is refused before anything is signed', (address) => {
  expect(() => refuseUnencrypted(new URL(address))).toThrow(UsageError)
})
