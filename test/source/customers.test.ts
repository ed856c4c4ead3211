import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  canonicalQuery,
  customersUrl,
  envelopeProblem,
  listEnvelope,
  placeOf,
} from '../../src/source/customers-page.ts'
import { aSource, PATIENT, rejection } from './a-source.ts'
import {
  aRecord,
  bytes,
  envelopeOf,
  faultServer,
  html,
  json,
  list,
  redirect,
  refusal,
  type Reply,
} from '../support/fault-server.ts'

const FIRST = { page: 1, size: 100 }

test('a page is its records, its size in effect and what the service counts', async () => {
  await using server = await faultServer(list(250))
  const page = await aSource(server).source.readPage({ page: 3, size: 100 }, PATIENT)
  expect(page).toMatchObject({ page: 3, size: 100, askedSize: 100, total: 250, lastPage: 3, beyondEnd: false })
  expect(page.records()).toEqual(Array.from({ length: 50 }, (_, index) => aRecord(201 + index)))
  expect(page.bytes).toBeGreaterThan(1000)
})

test('links are never followed, whatever they say', async () => {
  await using other = await faultServer(list(3))
  const links = { first: other.origin, last: other.origin, prev: null, next: other.origin }
  await using server = await faultServer(list(250, { envelope: { links } }))
  await aSource(server).source.readPage(FIRST, PATIENT)
  expect(server.requests).toHaveLength(1)
  expect(other.requests).toHaveLength(0)
})

test('no customers at all is a valid first page and not past the end', async () => {
  await using server = await faultServer(list(0))
  const page = await aSource(server).source.readPage(FIRST, PATIENT)
  expect(page).toMatchObject({ total: 0, lastPage: 1, beyondEnd: false })
  expect(page.records()).toEqual([])
})

test.each([
  ['an empty page', list(250)],
  ['an empty page without counts', json(200, { success: true, data: [], meta: { current_page: 9, per_page: 100 } })],
  ['a 404', refusal(404, 'not_found', 'No such page')],
])('%s past the last one is beyond the end', async (_, reply) => {
  await using server = await faultServer(reply)
  const page = await aSource(server).source.readPage({ page: 9, size: 100 }, PATIENT)
  expect(page).toMatchObject({ page: 9, beyondEnd: true })
  expect(page.records()).toEqual([])
})

test('a page that is found missing carries the refusal it is where the list does not end there', async () => {
  await using server = await faultServer(refusal(404, 'not_found', 'No such page'))
  const { refusal: refused } = await aSource(server).source.readPage({ page: 9, size: 100 }, PATIENT)
  expect(refused).toMatchObject({ code: 'not-found', status: 404 })
  expect(refused?.message).toMatch(/page 9, per_page 100.* answered 404/)
})

test.each([302, 400, 422])('status %d on a later page is not its end', async (status) => {
  await using server = await faultServer(redirect(status, '/'))
  const error = await rejection(aSource(server).source.readPage({ page: 9, size: 100 }, PATIENT))
  expect(error).toBeInstanceOf(Error)
  if (status < 400) expect(error).toMatchObject({ code: 'bad-answer' })
})

test.each([
  ['the count says there are customers', { total: 101, last_page: undefined }],
  ['the service says that it is the last one', { total: undefined, last_page: 2 }],
])('an empty page where %s is not the end', async (_, counts) => {
  const meta = { current_page: 2, per_page: 100, ...counts }
  await using server = await faultServer(json(200, { success: true, data: [], meta }))
  const page = await aSource(server).source.readPage({ page: 2, size: 100 }, PATIENT)
  expect(page).toMatchObject({ total: counts.total, beyondEnd: false })
  expect(page.records()).toEqual([])
})

test('a page size the service caps is adopted', async () => {
  const capped: Reply = (response, request) => list(120)(response, { ...request, size: 20 })
  await using server = await faultServer(capped)
  const page = await aSource(server).source.readPage(FIRST, PATIENT)
  expect(page).toMatchObject({ size: 20, askedSize: 100 })
  expect(page.records()).toHaveLength(20)
})

test('no more than the documented maximum is ever asked for', async () => {
  await using server = await faultServer(list(120))
  const page = await aSource(server).source.readPage({ page: 1, size: 500 }, PATIENT)
  expect(server.requests[0]?.size).toBe(100)
  expect(page).toMatchObject({ size: 100, askedSize: 500 })
})

test.each([0, -1, 1.5, Number.NaN])('page %d is never sent', async (page) => {
  await using server = await faultServer(list(120))
  expect(await rejection(aSource(server).source.readPage({ page, size: 100 }, PATIENT))).toBeInstanceOf(RangeError)
  expect(server.requests).toHaveLength(0)
})

test.each([
  ['a larger page than asked', list(250, { meta: { per_page: 200 } }), 'page-mismatch'],
  ['a page size of nothing', list(250, { meta: { per_page: 0 } }), 'page-mismatch'],
  ['a status of its own', json(201, envelopeOf(250, { page: 2, size: 100 })), 'bad-answer'],
  ['no content', bytes(204, ''), 'bad-answer'],
])('an answer with %s breaks the contract at once', async (_, reply, code) => {
  await using server = await faultServer(reply)
  const error = await rejection(aSource(server).source.readPage({ page: 2, size: 100 }, PATIENT))
  expect(error).toMatchObject({ name: 'ContractBroken', code })
  expect(String(error)).toContain(`GET ${server.baseUrl.href}/customers (page 2, per_page 100)`)
  expect(server.requests).toHaveLength(1)
})

test.each([null, 0, 1])('page 1 may begin at position %s, as services count', async (from) => {
  await using server = await faultServer(list(30, { meta: { from } }))
  expect((await aSource(server).source.readPage({ page: 1, size: 20 }, PATIENT)).records()).toHaveLength(20)
})

test.each([
  ['a larger size', { per_page: 100 }],
  ['more records than it says', { per_page: 2 }],
])('an answer with %s says which scan reads a service with one size', async (_, meta) => {
  await using server = await faultServer(list(250, { meta }))
  const error = await rejection(aSource(server).source.readPage({ page: 2, size: 13 }, PATIENT))
  expect(String(error)).toMatch(/Look for a cache or a proxy.*`scan: plain`.*reads it, without a proof/)
})

test('a search asks for the first page in the size it is given, and says what to search for', async () => {
  await using server = await faultServer(list(3))
  const answer = await aSource(server).source.search('Ann', { ...PATIENT, size: 50 })
  expect(answer).toMatchObject({ page: 1, size: 50, total: 3 })
  expect(server.requests.map(({ url }) => url.search)).toEqual(['?page=1&per_page=50&search=Ann'])
})

test.each([
  ['throttled', html(429, { 'Retry-After': 5 }), { name: 'RateLimited', waitMs: 5000 }],
  ['down', html(503, { 'Retry-After': 5 }), { name: 'SourceUnavailable', status: 503, waitMs: 5000 }],
])('where no wait is allowed, a page that is %s takes one request', async (_, reply, expected) => {
  await using server = await faultServer(reply)
  const { source, slept } = aSource(server, { longestWaitMs: 0 })
  const page = source.readPage({ page: 1, size: 15 }, PATIENT)
  expect(await page.catch((error: unknown) => error)).toMatchObject(expected)
  expect(server.requests).toHaveLength(1)
  expect(slept).toEqual([])
})

test.each(['https://u:p@acme.example.com/api/v1?x=1#y'])(
  'the page of %s is asked for below its path, with a sorted query and nothing else',
  (base) => {
    expect(customersUrl(new URL(base), { page: 2, size: 100 }).href).toBe(
      'https://acme.example.com/api/v1/customers?page=2&per_page=100',
    )
  },
)

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

const META = { current_page: 1, per_page: 15, total: 2 }

function problemWith(envelope: unknown): string | undefined {
  const parsed = listEnvelope.safeParse(envelope)
  return parsed.success ? undefined : envelopeProblem(parsed.error)
}

test('meta may hold only the three fields of the general convention, and links may be missing', () => {
  const parsed = listEnvelope.parse({ success: true, data: [{ id: 1 }, 'anything'], meta: META })
  expect(parsed).toEqual({ success: true, data: [{ id: 1 }, 'anything'], meta: META })
})

test('digits in a string are whole numbers', () => {
  const meta = { current_page: '2', per_page: 45, total: '7', last_page: '1', from: null, to: null }
  expect(listEnvelope.parse({ success: true, data: [], meta }).meta).toEqual({
    current_page: 2,
    per_page: 45,
    total: 7,
    last_page: 1,
    from: null,
    to: null,
  })
})

test.each([
  ['success is false', { success: false, data: [], meta: META }, 'success must be true'],
  ['data is an object', { success: true, data: { id: 'x' }, meta: META }, 'data must be a list'],
  ['pairs differ', { success: true, data: [], meta: { ...META, total: [1, 2] } }, 'meta.total must be a whole number'],
  [
    'a number is a word',
    { success: true, data: [], meta: { ...META, from: 'one' } },
    'meta.from must be a whole number',
  ],
  ['it is a list', [], 'it is not an object'],
])('the contract is broken when %s', (_, envelope, problem) => {
  expect(problemWith(envelope)).toBe(problem)
})

test("no problem ever quotes the service's answer", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 8 }), (text) => {
      fc.pre(!'success must be true data must be a list meta must be an object it is not'.includes(text))
      const envelopes = [{ [text]: text }, { success: true, data: { [text]: text }, meta: META }, text]
      for (const envelope of envelopes) expect(problemWith(envelope)).not.toContain(text)
    }),
  )
})
