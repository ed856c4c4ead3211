import { expect, test } from 'vitest'
import { z } from 'zod'
import { openApi } from '../../src/serve/open-api.ts'
import { TEXT_FIELDS } from '../../src/model/customer.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import { night } from '../store/nights.ts'
import { aCustomer, customerId, START_MS } from '../support/builders.ts'
import { aPlayedMirror, tamper } from '../support/mirror-file.ts'
import { aReader, aServe, SHOP, WITH_NONCE } from './a-served-mirror.ts'

/** 230 customers of acme in two languages, the newest first, of which the last is removed; one of globex. */
async function twoOrganizations(mirror: Mirror): Promise<void> {
  const acme = Array.from({ length: 231 }, (_, n) =>
    aCustomer(n + 1, {
      language: n % 3 === 0 ? 'fr' : 'en',
      created_at: new Date(START_MS - n * 60_000).toISOString(),
      ...(n === 6 && { name: 'Åsa Éxample', email: 'ASA@example.se', vip: { level: 1 }, tags: ['a', null] }),
      ...(n === 7 && { name: 'two\nlines', username: 'other' }),
    }),
  )
  await night(mirror, 0, acme)
  await night(mirror, 0, [aCustomer(901)], { organization: 'globex' })
  tamper(
    mirror.file,
    `UPDATE customers SET removed_at = '2026-01-06 02:00:00.000' WHERE id = ? AND organization = 'acme'`,
    customerId(231),
  )
}

const serve = async (options: Parameters<typeof aServe>[1] = {}) =>
  aServe((await aPlayedMirror(twoOrganizations)).file, options)

test('a signed request is answered with a page, every field of its customers, and how current it is; HEAD has the headers alone; other methods and paths do not exist, and change nothing', async () => {
  const { ask, get } = await serve()
  const { ids, meta, headers, data } = await ask('/customers?page=2&per_page=90')

  expect(ids).toEqual(Array.from({ length: 90 }, (_, place) => customerId(140 - place)))
  expect(meta).toEqual({ current_page: 2, from: 91, last_page: 3, per_page: 90, to: 180, total: 230 })
  expect(headers.get('Cache-Control')).toBe('no-store')
  expect([headers.get('X-Data-As-Of'), headers.get('X-Proof')]).toEqual([new Date(START_MS).toISOString(), 'proven'])
  expect(Object.keys(data[0] ?? {}).toSorted()).toEqual(['id', ...TEXT_FIELDS].toSorted())

  const head = await ask('/customers', { method: 'HEAD' })
  expect([head.status, head.text, head.headers.get('X-Proof')]).toEqual([200, '', 'proven'])
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
    expect((await ask('/customers', { method })).status).toBe(404)
    for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json'])
      expect((await get(path, method)).status).toBe(405)
  }
  expect((await ask(`/customers/${customerId(1)}`)).status).toBe(404)
  expect((await ask('/customers', { change: (sent) => (sent['Host'] = 'a b') })).status).toBe(400)
})

const QUERIES = [
  ['', { per_page: 15, current_page: 1, to: 15, last_page: 16 }],
  ['?per_page=1', { per_page: 1, last_page: 230 }],
  ['?per_page=100&page=3', { per_page: 100, current_page: 3, from: 201, to: 230 }],
  ['?per_page=100&page=4', { current_page: 4, from: null, to: null, total: 230, last_page: 3 }],
  ['?page=9007199254740991', { from: null, to: null, total: 230 }],
  ['?language=fr', { total: 77 }],
  ['?language=FR', { total: 0 }],
  ['?language=%00', { total: 0 }],
  ['?search=%00', { total: 0 }],
  ['?search=asa', { total: 1 }],
  ['?search=EXAMPLE.SE', { total: 1 }],
  ['?search=CUSTOMER-23&language=en', { total: 2 }],
  ['?search=lines%0Aother', { total: 0 }],
  ['?search=Exampleton', { total: 0 }],
  ['?search=%25', { total: 0 }],
  ['?search=customer-231', { total: 0 }],
  ['?search=customer-901', { total: 0 }],
] as const

test('each query is answered with active customers of this organization alone', async () => {
  const { ask } = await serve()
  for (const [query, meta] of QUERIES) {
    const answer = await ask(`/customers${query}`)
    expect({ query, status: answer.status, meta: answer.meta }).toMatchObject({ query, status: 200, meta })
    if (answer.meta.from === null) expect(answer.ids).toEqual([])
  }
})

type Headers = Record<string, string>

test('a nonce is accepted once, from each reader, for as long as its time is', async () => {
  let nowMs = START_MS
  const readers = ['shop', 'other'].map((name) => aReader(name, { recipe: WITH_NONCE }))
  const { ask } = await serve({ readers, now: () => nowMs })
  const atMs = START_MS + 300_000
  const statusOf = async (nonce: string, reader = readers[0] ?? SHOP) =>
    (await ask('/customers', { reader, nonce, atMs })).status

  expect([await statusOf('a'), await statusOf('a'), await statusOf('b')]).toEqual([200, 401, 200])
  expect(await statusOf('a', readers[1])).toBe(200)
  nowMs += 600_000
  expect([await statusOf('a'), await statusOf('c'), await statusOf('b')]).toEqual([401, 200, 401])
  const change = (headers: Headers) => delete headers['X-Nonce']
  expect((await ask('/customers', { atMs, change })).status).toBe(401)
})

const ACME = ['acme']
const BOTH = ['acme', 'globex']

test.each([
  [BOTH, 'acme.shop.test', 200, 230],
  [BOTH, 'globex.shop.test:4020', 200, 1],
  [BOTH, 'GLOBEX', 200, 1],
  [BOTH, 'initech.shop.test', 403, 0],
  [BOTH, 'shop.test', 404, 0],
  [BOTH, '127.0.0.1', 404, 0],
  [ACME, '127.0.0.1', 200, 230],
  [ACME, 'customers.internal', 200, 230],
  [ACME, 'globex.shop.test', 403, 0],
  [ACME, 'acme.eu.shop.test', 403, 0],
  [ACME, 'acme.europe.shop.test', 200, 230],
])('a reader of %j who asks the host %s is answered with that organization or none: %i', async (...row) => {
  const [opened, host, status, total] = row
  const organizations = ['acme', 'globex', 'initech', 'acme.eu', '127']
  const { ask } = await serve({ organizations, readers: [aReader('shop', { organizations: opened })] })
  const answer = await ask('/customers', { host })

  expect([answer.status, answer.meta.total]).toEqual([status, total])
})

test('behind a proxy that ends TLS, links and the signed address are those that the client asked', async () => {
  const { ask } = await serve({ readers: [aReader('shop', { recipe: WITH_NONCE })] })
  const forwarded = { host: 'acme.shop.test', change: (headers: Headers) => (headers['X-Forwarded-Proto'] = 'https') }

  expect((await ask('/customers', forwarded)).status).toBe(401)
  const { links } = await (await serve()).ask('/customers', forwarded)
  expect(links.next).toBe('https://acme.shop.test/api/v1/customers?page=2')
})

test('links keep what was asked for, so that a client that follows them stays on that list', async () => {
  const { links } = await (await serve()).ask('/customers?per_page=2&page=2&search=cust%20%26')
  const { links: next } = await (await serve()).ask('/customers?per_page=2&page=2')

  expect(links.first).toMatch(/customers\?per_page=2&search=cust\+%26&page=1$/)
  expect(next.next).toMatch(/customers\?per_page=2&page=3$/)
})

test('each reader has a limit of its own, which only signed requests use up, and the answer says when to ask again', async () => {
  const readers = [aReader('shop', { requestsPerMinute: 2 }), aReader('other')]
  const { ask } = await serve({ readers, now: () => START_MS })
  const forged = { change: (headers: Headers) => (headers['X-Signature'] = 'f'.repeat(64)) }
  for (let n = 0; n < 3; n += 1) expect((await ask('/customers', forged)).status).toBe(401)
  const statuses = []
  for (let n = 0; n < 3; n += 1) statuses.push((await ask('/customers')).status)
  const refused = await ask('/customers')

  expect(statuses).toEqual([200, 200, 429])
  expect([refused.error, refused.headers.get('Retry-After')]).toEqual(['rate_limited', '60'])
  expect((await ask('/customers', { reader: readers[1] ?? SHOP })).status).toBe(200)
})

test('metrics count requests by reader and status; no line and no metric has a key or what was searched for', async () => {
  const { ask, get, lines } = await serve()
  await ask('/customers?search=Private+Person&language=xq&page=7&per_page=50')
  await ask('/customers?language=xq&page=Private')
  await ask('/customers?per_page=0')
  await ask('/customers', { change: (headers) => (headers['X-API-Key'] = 'unknown-key') })
  const { text, headers } = await get('/metrics')

  expect(headers.get('Content-Type')).toMatch(/^text\/plain/)
  expect(text.split('\n').filter((line) => line.startsWith('customer_mirror_serve_requests_total'))).toEqual([
    'customer_mirror_serve_requests_total{reader="shop",status="200"} 2',
    'customer_mirror_serve_requests_total{reader="shop",status="422"} 1',
    'customer_mirror_serve_requests_total{reader="unknown",status="401"} 1',
  ])
  expect(lines[0]).toMatchObject({ reader: 'shop', status: 200, page: 7, perPage: 50, isFiltered: true })
  expect(lines[1]).toMatchObject({ isFiltered: true })
  expect(`${JSON.stringify(lines)}${text}`).not.toMatch(/private|xq|key-|unknown-key|secret of/i)
})

test('/openapi.json is a document of OpenAPI 3.1 whose schemas hold what is answered, and no other answer', async () => {
  const { get, ask } = await serve()
  const document = openApi()
  const { List, Error: Refusal } = document.components.schemas
  const list = await ask('/customers')
  const refused = await ask('/customers?per_page=0')

  expect(JSON.parse((await get('/openapi.json')).text)).toEqual(JSON.parse(JSON.stringify(document)))
  expect(document.openapi).toBe('3.1.0')
  const named = JSON.stringify(document).match(/(?<="#\/components\/schemas\/)[^"]*/g)
  expect(new Set(named)).toEqual(new Set(['Error', 'List']))
  const schemaOf = (json: unknown) => z.fromJSONSchema(JSON.parse(JSON.stringify(json)))
  expect(schemaOf(List).safeParse(JSON.parse(list.text)).error).toBeUndefined()
  expect(schemaOf(Refusal).safeParse(JSON.parse(refused.text)).error).toBeUndefined()
  expect(schemaOf(List).safeParse(JSON.parse(refused.text)).success).toBe(false)
  const { responses, parameters } = document.paths['/customers'].get
  expect(Object.keys(responses)).toEqual(['200', '401', '403', '404', '422', '429', '503'])
  for (const name of Object.keys(responses[200].headers)) expect(list.headers.get(name)).not.toBeNull()
  expect(parameters.map(({ name }) => name)).toEqual(['per_page', 'page', 'search', 'language'])
  expect(parameters[0]?.schema).toMatchObject({ minimum: 1, maximum: 100, default: 15 })
})
