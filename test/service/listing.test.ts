import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findRefusal, type SentRequest } from '../../src/service/authentication.ts'
import { generateCustomers } from '../../src/service/customers.ts'
import { type LargePages, listPage, type ListQuery, readListQuery } from '../../src/service/listing.ts'
import {
  DEFAULT_PRESET,
  PRESETS,
  type Recipe,
  recipeOf,
  SECRET_ENCODINGS,
  SIGNATURE_ENCODINGS,
  signedHeaders,
  TIMESTAMP_FORMS,
} from '../../src/signing/signing.ts'
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

test('a page beyond the last is empty', () => {
  const { data, meta, links } = page('per_page=100&page=9')
  expect(data).toEqual([])
  expect(meta).toEqual({ current_page: 9, from: null, last_page: 3, per_page: 100, to: null, total: 230 })
  expect(links).toMatchObject({ prev: `${ADDRESS}?page=8`, next: null })
})

test.each(['abc', '1.5', '99999999999999999999'])('page "%s" is page 1', (text) => {
  expect(query(`page=${text}`).page).toBe(1)
})

test.each([
  ['101', 'The per page field must not be greater than 100.'],
  ['0', 'The per page field must be at least 1.'],
  ['abc', 'The per page field must be an integer.'],
])('per_page %s is invalid', (text, message) => {
  const parameters = new URLSearchParams({ per_page: text })
  expect(readListQuery(parameters, 'refuse')).toEqual({ details: { per_page: [message] } })
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

test('the ids are version 4 UUIDs that follow no order', () => {
  const ids = generateCustomers({ seed: 'a', count: 1000 }).map(({ id }) => id)
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  const ascents = ids.filter((id, index) => index > 0 && id > (ids[index - 1] ?? '')).length
  expect(ascents).toBeGreaterThan(400)
  expect(ascents).toBeLessThan(600)
})

test('customers are fictional: addresses at example.com, telephone numbers for fiction, existing time zones', () => {
  const known = new Set(Intl.supportedValuesOf('timeZone'))
  const made = generateCustomers({ seed: 'a', count: 500 })
  for (const { email, phone, timezone, username } of made) {
    expect(email).toBe(`${username}@example.com`)
    expect(phone).toMatch(/^\+1-\d{3}-555-01\d\d$/)
    expect(known).toContain(timezone)
  }
  expect(new Set(made.map(({ username }) => username)).size).toBe(500)
})

const NOW_MS = 1_700_000_000_000
const credentials = { apiKey: 'key-of-nobody', secret: Buffer.from('a secret that opens nothing').toString('hex') }
const standard = recipeOf(DEFAULT_PRESET)

/** A request as it arrives, signed at `unixMs` with the recipe the sender holds for right. */
function sent(recipe: Recipe, { unixMs = NOW_MS, secret = credentials.secret, nonce = 'n-1' } = {}): SentRequest {
  const url = new URL('http://127.0.0.1:4010/api/v1/customers?page=2&per_page=100')
  const headers = signedHeaders({ method: 'GET', url }, { ...credentials, secret }, { unixMs, nonce }, recipe)
  const names = recipe.headers
  return {
    method: 'GET',
    url,
    headers: {
      key: headers[names.key],
      timestamp: headers[names.timestamp],
      signature: headers[names.signature],
      nonce: headers[names.nonce],
    },
  }
}

function refusal(request: SentRequest, recipe: Recipe = standard) {
  return findRefusal(request, credentials, { recipe, nowMs: NOW_MS })
}

const anyRecipe: fc.Arbitrary<Recipe> = fc.record({
  template: fc.constantFrom(...Object.values(PRESETS), '{nonce}.{ts}.{url}', '{host}{ts}{query}{body_sha256}'),
  encoding: fc.constantFrom(...SIGNATURE_ENCODINGS),
  prefix: fc.constantFrom('', 'sha256='),
  secretEncoding: fc.constantFrom(...SECRET_ENCODINGS),
  timestamp: fc.constantFrom(...TIMESTAMP_FORMS),
  headers: fc.constant(standard.headers),
})

test('a request signed by a recipe is accepted by that recipe', () => {
  fc.assert(
    fc.property(anyRecipe, (recipe) => {
      expect(refusal(sent(recipe), recipe)).toBeUndefined()
    }),
  )
})

test.each([
  ['300 seconds behind', -300, undefined],
  ['301 seconds behind', -301, 'is 301 seconds behind the clock of this service; at most 300 are allowed'],
])('a timestamp %s', (_, seconds, reason) => {
  expect(refusal(sent(standard, { unixMs: NOW_MS + seconds * 1000 }))?.reason).toBe(reason)
})

test.each([
  ['nothing', undefined, 'is missing'],
  ['a word', 'now', 'cannot be read'],
  ['spelt otherwise', '01700000000', 'cannot be read'],
])('a timestamp that is %s is refused with the form it must have', (_, timestamp, problem) => {
  const request = sent(standard)
  expect(refusal({ ...request, headers: { ...request.headers, timestamp } })).toEqual({
    header: 'X-Timestamp',
    reason: `${problem}; it must be the time as Unix seconds`,
  })
})

test('a refused signature names the string to sign, and no key, secret or signature', () => {
  fc.assert(
    fc.property(anyRecipe, (recipe) => {
      const secret = Buffer.from('another secret of nobody at all').toString('hex')
      const request = sent(recipe, { secret })
      const shown = JSON.stringify(refusal(request, recipe))
      expect(shown).toContain('stringToSign')
      const right = sent(recipe).headers.signature
      for (const hidden of [credentials.apiKey, credentials.secret, secret, request.headers.signature, right]) {
        expect(shown).not.toContain(hidden)
      }
    }),
  )
})
