import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { customersUrl, placeOf } from '../../src/source/customers-page.ts'
import { bytes, envelopeOf, faultServer, json, list, refusal, type Reply } from '../support/fault-server.ts'
import { everythingIn, readFrom } from './a-source.ts'

test('links are never followed, whatever they say', async () => {
  const other = await faultServer(list(3))
  const links = { first: other.origin, last: other.origin, prev: null, next: other.origin }
  const { server } = await readFrom(list(250, { envelope: { links } }))
  expect([server.requests.length, other.requests.length]).toEqual([1, 0])
})

test.each([
  ['an empty page', list(250)],
  ['an empty page without counts', json(200, { success: true, data: [], meta: { current_page: 9, per_page: 100 } })],
  ['a 404', refusal(404, 'not_found', 'No such page')],
])('%s past the last one is beyond the end', async (what, reply) => {
  const { page } = await readFrom(reply, { window: { page: 9, size: 100 } })
  expect(page).toMatchObject({ page: 9, beyondEnd: true })
  expect(page?.records()).toEqual([])
  // The refusal that it is where the list does not end there.
  if (what === 'a 404') expect(page?.refusal?.message).toMatch(/page 9, per_page 100.* answered 404/)
  else expect(page?.refusal).toBeUndefined()
})

const emptyWith = (counts: object) =>
  json(200, { success: true, data: [], meta: { current_page: 2, per_page: 100, ...counts } })
const capped: Reply = (response, request) => list(120)(response, { ...request, size: 20 })

test.each<[what: string, reply: Reply, page: number, total: number | undefined, size: number, held: number]>([
  ['a first page of a list without customers', list(0), 1, 0, 100, 0],
  ['an empty page where the count says there are customers', emptyWith({ total: 101 }), 2, 101, 100, 0],
  ['an empty page that is the last one by what the service says', emptyWith({ last_page: 2 }), 2, undefined, 100, 0],
  ['a page in a size that the service caps, which is adopted,', capped, 1, 120, 20, 20],
])('%s is valid, and not past the end', async (_, reply, number, total, size, held) => {
  const { page } = await readFrom(reply, { window: { page: number, size: 100 } })
  expect(page).toMatchObject({ total, size, beyondEnd: false })
  expect(page?.records()).toHaveLength(held)
})

test('no more than the documented maximum is ever asked for', async () => {
  const { page, server } = await readFrom(list(120), { window: { page: 1, size: 500 } })
  expect(server.requests[0]?.size).toBe(100)
  expect(page).toMatchObject({ size: 100 })
})

const TOO_LARGE = ' '.repeat(17 * 1024 * 1024)
const SWELLING = bytes(200, gzipSync(TOO_LARGE), { 'Content-Encoding': 'gzip' })
const PAGE_2 = JSON.stringify(envelopeOf(250, { page: 2, size: 100 }))
const LATIN = Buffer.from(PAGE_2.replace('Customer 102', 'Customer é'), 'latin1')

test.each([
  ['a larger page than asked', list(250, { meta: { per_page: 200 } }), 'page-mismatch'],
  ['a page size of nothing', list(250, { meta: { per_page: 0 } }), 'page-mismatch'],
  ['a status of its own', json(201, envelopeOf(250, { page: 2, size: 100 })), 'bad-answer'],
  ['more records than it says', list(250, { meta: { per_page: 2 } }), 'page-mismatch'],
  ['nothing new', bytes(304, ''), 'bad-answer'],
  ['a question for the credentials of a proxy', bytes(407, ''), 'bad-answer'],
  ['a body over the cap', bytes(200, TOO_LARGE), 'too-large'],
  ['a small body that swells over the cap', SWELLING, 'too-large'],
  ['invalid UTF-8', bytes(200, LATIN), 'not-utf8'],
])('an answer with %s breaks the contract at once', async (_, reply, code) => {
  const { error, server } = await readFrom(reply, { window: { page: 2, size: 100 } })
  expect(error).toMatchObject({ name: 'ContractBroken', code })
  expect(String(error)).toContain(`GET ${server.baseUrl.href}/customers (page 2, per_page 100)`)
  expect(server.requests).toHaveLength(1)
})

test.each([null, 0, 1, 11])(
  'page 1 may begin at position %s, as services count, and behind the first at none',
  async (from) => {
    const { page, error } = await readFrom(list(30, { meta: { from } }), { window: { page: 1, size: 20 } })
    if (from !== 11) expect(page?.records()).toHaveLength(20)
    else expect(String(error)).toMatch(/page 1 begins at position 11 of the list.*No row.*kept/)
  },
)

test.each([
  ['an empty body', ''],
  ['JSON that is cut off', '{"success":true,"data":['],
  ['something other than JSON', 'Notice: x in y.php\n{"success":true}'],
])('a 200 with %s is no page', async (what, body) => {
  const { error } = await readFrom(bytes(200, body))
  expect(error).toMatchObject({ code: 'bad-answer', message: expect.stringContaining(`answered ${what}`) })
})

test('a page is asked for below the path of the base address, with a sorted query, and named without what that holds besides', () => {
  const asked = { page: 2, size: 50 }
  const url = customersUrl(new URL('https://user:hidden@acme.example.com/api/v1/?token=hidden#y'), asked)
  expect(url.href).toBe('https://acme.example.com/api/v1/customers?page=2&per_page=50')
  expect(placeOf(url, asked)).toBe('GET https://acme.example.com/api/v1/customers (page 2, per_page 50)')
  expect(customersUrl(new URL('https://acme.example.com//other.example.com'), asked).host).toBe('acme.example.com')
})

test('the query of a search is sorted, holds unreserved characters only, and reads back', () => {
  const searchFor = (search: string) => customersUrl(new URL('https://acme.example.com'), { page: 1, size: 5, search })
  expect(searchFor("ü ~it's (all)*!").search).toBe('?page=1&per_page=5&search=%C3%BC%20~it%27s%20%28all%29%2A%21')
  const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code))
  for (const text of [...ascii, ascii.join(''), 'a+b %41', 'é\u0301', '歳\u{1f600}']) {
    const { href, search } = searchFor(text)
    expect(search).toMatch(/^\?[\w.~%=&-]*$/)
    // The parser of URLs must not change a byte of what is signed.
    expect(new URL(href).search).toBe(search)
    expect(new URLSearchParams(search).get('search')).toBe(text)
  }
})

const META = { current_page: 1, per_page: 100, total: 2 }
const withMeta = (meta: object) => ({ success: true, data: [], meta: { ...META, ...meta } })

test.each([
  ['only the three fields of the general convention, and no links', [{ id: 1 }, 'anything'], META],
  ['digits in strings', [], { current_page: '1', per_page: '100', total: '2' }],
  ['each number twice', [], { current_page: [1, 1], per_page: ['100', 100], total: [2, 2] }],
  ['a list with holes, written as an object', { '0': 'a', '2': 'b' }, META],
])('an envelope may have %s', async (_, data, meta) => {
  const { page } = await readFrom(json(200, { success: true, data, meta }))
  expect(page).toMatchObject({ page: 1, size: 100, total: 2 })
  expect(page?.records()).toEqual(Object.values(data))
})

test('an answer with more values than any page has is too large, whatever its bytes are', async () => {
  const { error } = await readFrom(json(200, { ...withMeta({}), odd: Array.from({ length: 1_000_001 }, () => 0) }))
  expect(error).toMatchObject({ code: 'too-large', message: expect.stringContaining('more than a million values') })
})

test.each([
  ['success is false', { success: false, data: [], meta: META }, 'success must be true'],
  ['data is an object', { success: true, data: { hidden: 'hidden' }, meta: META }, 'data must be a list'],
  ['a number is a pair', withMeta({ total: [1] }), 'meta.total must be a whole number'],
  ['a number is a word', withMeta({ from: 'hidden' }), 'meta.from must be a whole numb'],
  ['it is another object', { hidden: 'hidden' }, 'success must be true'],
  ['it is a list', ['hidden'], 'it is not an object'],
  ['it is a text', 'hidden', 'it is not an object'],
])('the contract is broken when %s, and the answer is not quoted', async (_, envelope, problem) => {
  const { error } = await readFrom(json(200, envelope))
  expect(error).toMatchObject({ code: 'bad-answer', message: expect.stringContaining(problem) })
  expect(everythingIn(error)).not.toContain('hidden')
})
