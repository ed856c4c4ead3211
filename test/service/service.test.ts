import { once } from 'node:events'
import { request } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { listen } from '../../src/http/server.ts'
import { BASE_PATH, createService, type ServiceOptions, type ServiceOrganization } from '../../src/service/app.ts'
import { generateCustomers } from '../../src/service/customers.ts'
import { DEFAULT_PRESET, PRESETS, type Recipe, recipeOf, FORMS, signedHeaders } from '../../src/signing/signing.ts'
import { ask } from './a-sandbox.ts'

const NOW_MS = 1_700_000_000_000
const customers = generateCustomers({ seed: 'service', count: 230 })
const secret = Buffer.from('a secret that opens nothing').toString('hex')
const recipe = recipeOf(DEFAULT_PRESET)
const acme = { id: 'acme', apiKey: 'key-acme', secret, recipe, customers: { list: () => customers } }
const globex = { ...acme, id: 'globex', apiKey: 'key-globex' }

/** Serves an organization, and another one, on a free port until the test ends, and asks it; by default at `NOW_MS`. */
async function serve(organization: ServiceOrganization = acme, options: Partial<ServiceOptions> = {}) {
  const service = createService({ organizations: [organization, globex], now: () => NOW_MS, ...options })
  const { origin, close } = await listen(service, { host: '127.0.0.1', port: 0 })
  onTestFinished(close)
  const baseUrl = origin + BASE_PATH
  return {
    ...{ origin, asked: { ...organization, baseUrl }, other: { ...globex, baseUrl } },
    get: (target: string, how: Parameters<typeof ask>[2] = {}) =>
      ask({ ...organization, baseUrl }, target, { atMs: NOW_MS, ...how }),
  }
}

test('a signed request is answered with the documented envelope', async () => {
  const { get, origin } = await serve()
  const { status, headers, text } = await get('/customers?page=2&per_page=90')
  expect([status, headers.get('Content-Type')]).toEqual([200, 'application/json'])
  const link = (page: number) => `${origin}/api/v1/customers?page=${page}`
  expect(JSON.parse(text)).toEqual({
    success: true,
    data: customers.slice(90, 180),
    meta: { current_page: 2, from: 91, last_page: 3, per_page: 90, to: 180, total: 230 },
    links: { first: link(1), last: link(3), prev: link(1), next: link(3) },
  })
  expect(JSON.parse((await get('/customers?per_page=100&page=9')).text)).toMatchObject({
    data: [],
    meta: { current_page: 9, from: null, last_page: 3, per_page: 100, to: null, total: 230 },
    links: { prev: link(8), next: null },
  })
})

const someone = customers[17]
const search = (text = '') => `search=${encodeURIComponent(text)}`

test.each([
  ['page=abc', { current_page: 1, per_page: 15 }],
  ['page=99999999999999999999', { current_page: 1 }],
  ['search=', { total: 230 }],
  ['search=Europe/', { total: 0 }],
  ['search=%25', { total: 0 }],
  [search(customers[3]?.id), { total: 0 }],
  [search(someone?.username.toUpperCase()), { total: 1 }],
  [search(someone?.email.slice(1)), { total: 1 }],
  [search(someone?.name.slice(1)), { total: customers.filter(({ name }) => name === someone?.name).length }],
  ['language=fr', { total: customers.filter(({ language }) => language === 'fr').length }],
  ['language=FR', { total: 0 }],
])('?%s is answered with %o: search looks into names and addresses, in any case', async (query, meta) => {
  expect((await (await serve()).get(`/customers?${query}`)).meta).toMatchObject(meta)
})

test.each(['101', '0', 'abc', '-1', '1.5', '1e1', '99999999999999999999'])('per_page %s ends in 422', async (size) => {
  const { get } = await serve()
  expect(await get(`/customers?per_page=${size}`)).toMatchObject({
    status: 422,
    error: 'validation_error',
    details: { per_page: ['The per page field must be an integer from 1 to 100.'] },
  })
})

test.each<[string, (headers: Record<string, string>) => unknown]>([
  ['without a key', (headers) => delete headers['X-API-Key']],
  ['with an unknown key', (headers) => (headers['X-API-Key'] = 'nobody')],
  ['with a later timestamp than was signed', (headers) => (headers['X-Timestamp'] += '0')],
  ['with a wrong signature', (headers) => (headers['X-Signature'] = 'f'.repeat(64))],
  ['with a signature that is cut', (headers) => (headers['X-Signature'] = '0a')],
  ['without a signature', (headers) => delete headers['X-Signature']],
  ['with no timestamp in place of the one signed', (headers) => (headers['X-Timestamp'] = '')],
  ['with a word in place of the one signed', (headers) => (headers['X-Timestamp'] = 'now')],
  ['with a zero before the one signed', (headers) => (headers['X-Timestamp'] = '01700000000')],
])('a request %s is answered 401, without further details', async (_, change) => {
  const { status, text } = await (await serve()).get('/customers', { change })
  const message = 'The request is not authenticated.'
  expect([status, JSON.parse(text)]).toEqual([401, { success: false, error: 'unauthorized', message, details: {} }])
})

test('a request is answered that was signed within five minutes of the time of the server', async () => {
  const { get } = await serve()
  const statusAt = async (ms: number) => (await get('/customers', { atMs: NOW_MS + ms })).status
  expect([await statusAt(-301_000), await statusAt(-300_000), await statusAt(300_000)]).toEqual([401, 200, 200])
  expect(await statusAt(301_000)).toBe(401)
})

const TEMPLATES = [...Object.values(PRESETS), '{nonce}.{ts}.{url}', '{host}{ts}{query}{body_sha256}']

test.each([...TEMPLATES.entries()])('preset %i, %s, is accepted, and another secret is not', async (n, template) => {
  const turn = <Choice>(choices: readonly Choice[]) => choices[n % choices.length]!
  const [encoding, timestamp] = [turn(FORMS.encoding), turn(FORMS.timestamp)]
  const rest = { prefix: turn(['', 'sha256=']), secretEncoding: turn(FORMS.secretEncoding) }
  const chosen: Recipe = { ...recipe, template, encoding, timestamp, ...rest }
  const { get, asked } = await serve({ ...acme, recipe: chosen })
  expect((await get('/customers', { recipe: chosen })).status).toBe(200)
  const wrong = Buffer.from('another secret that opens nothing').toString('hex')
  const { status } = await ask({ ...asked, secret: wrong }, '/customers', { recipe: chosen, atMs: NOW_MS })
  expect(status).toBe(401)
})

test('the signature is checked over the address as it was sent, not as it is rewritten', async () => {
  const { asked } = await serve()
  const path = "/api/v1/customers?search=o'fixture&per_page=100"
  const url = Object.defineProperty(new URL(asked.baseUrl), 'search', { value: path.slice(path.indexOf('?')) })
  Object.defineProperty(url, 'pathname', { value: '/api/v1/customers' })
  const headers = signedHeaders({ method: 'GET', url }, asked, { unixMs: NOW_MS }, recipe)
  const sent = request({ host: url.hostname, port: url.port, path, headers }).end()
  const [response] = await once(sent, 'response')
  response.resume()
  expect(response.statusCode).toBe(200)
})

const failing = () => {
  throw new Error('a table of the database is gone')
}

test.each<[string, Partial<ServiceOrganization>, string, number, string]>([
  ['a refusal', { answer: () => ({ kind: 'error', status: 403, message: 'no' }) }, '/customers', 403, 'forbidden'],
  ['what the specification does not describe', {}, '/products', 404, 'not_found'],
  ['an internal failure', { customers: { list: failing } }, '/customers', 500, 'server_error'],
])('%s is answered without its cause, in no other page, kept by no cache', async (_, changes, target, code, error) => {
  const { get } = await serve({ ...acme, ...changes })
  const { status, text, headers } = await get(target)
  expect(JSON.parse(text)).toMatchObject({ success: false, error, details: {} })
  expect([status, headers.get('Date')]).toEqual([code, 'Tue, 14 Nov 2023 22:13:20 GMT'])
  const named = ['X-Content-Type-Options', 'X-Frame-Options', 'Cache-Control'].map((name) => headers.get(name))
  expect(named).toEqual(['nosniff', 'DENY', 'no-store'])
  expect(text).not.toContain('database')
})

test('over the rate limit a request is answered 429 with the time to wait, until the window ends', async () => {
  let nowMs = NOW_MS
  const { get, other } = await serve({ ...acme, rateLimit: { requests: 2, windowMs: 5000 } }, { now: () => nowMs })
  const take = async () => {
    const { status, headers } = await get('/customers', { atMs: nowMs })
    const names = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'Retry-After', 'X-RateLimit-Reset']
    return [status, ...names.map((name) => headers.get(name))]
  }

  expect(await take()).toEqual([200, '2', '1', null, null])
  nowMs += 2500
  expect(await take()).toEqual([200, '2', '0', null, null])
  expect(await take()).toEqual([429, '2', '0', '3', '1700000005'])
  expect((await ask(other, '/customers', { atMs: nowMs })).status).toBe(200)
  nowMs += 2500
  expect(await take()).toEqual([200, '2', '1', null, null])
})

test('customers are fictional: ids without an order, addresses at example.com, telephone numbers for fiction', () => {
  const known = new Set(Intl.supportedValuesOf('timeZone'))
  const made = generateCustomers({ seed: 'a', count: 300 })
  for (const { id, email, phone, timezone, username } of made) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect([email, phone]).toEqual([`${username}@example.com`, expect.stringMatching(/^\+1-\d{3}-555-01\d\d$/)])
    expect(known).toContain(timezone)
  }
  expect(new Set(made.map(({ username }) => username)).size).toBe(300)
  const ascents = made.filter(({ id }, index) => id > (made[index - 1]?.id ?? '')).length
  expect(Math.abs(ascents - 150)).toBeLessThan(50)
})
