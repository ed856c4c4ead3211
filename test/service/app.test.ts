import { once } from 'node:events'
import { request } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { BASE_PATH, createService } from '../../src/service/app.ts'
import type { ServiceOptions, ServiceOrganization } from '../../src/service/app.ts'
import { generateCustomers } from '../../src/service/customers.ts'
import { listen } from '../../src/http/server.ts'
import { DEFAULT_PRESET, recipeOf, signedHeaders } from '../../src/signing/signing.ts'
import { ask, failure, list } from './ask.ts'

const customers = generateCustomers({ seed: 'app', count: 40 })
const acme = { id: 'acme', apiKey: 'key-acme', secret: 'secret-acme', customers: { list: () => customers } }
const others = generateCustomers({ seed: 'others', count: 3 })
const globex = { id: 'globex', apiKey: 'key-globex', secret: 'secret-globex', customers: { list: () => others } }
const recipe = recipeOf(DEFAULT_PRESET)

/** Serves the organizations on a free port until the test ends, and gives each with its address. */
async function serve<Organization extends ServiceOrganization>(
  organization: Organization,
  options: Partial<ServiceOptions> = {},
) {
  const service = createService({ organizations: [organization, globex], recipe, now: Date.now, ...options })
  const { origin, close } = await listen(service, { host: '127.0.0.1', port: 0 })
  onTestFinished(close)
  return {
    origin,
    acme: { ...organization, baseUrl: origin + BASE_PATH },
    globex: { ...globex, baseUrl: origin + BASE_PATH },
  }
}

test('a signed request is answered with the documented envelope', async () => {
  const { acme: asked, origin } = await serve(acme)
  const answer = await ask(asked, '/customers?page=2&per_page=15')
  expect(answer.status).toBe(200)
  expect(answer.headers.get('Content-Type')).toBe('application/json')
  expect(list(answer)).toEqual({
    success: true,
    data: customers.slice(15, 30),
    meta: { current_page: 2, from: 16, last_page: 3, per_page: 15, to: 30, total: 40 },
    links: {
      first: `${origin}/api/v1/customers?page=1`,
      last: `${origin}/api/v1/customers?page=3`,
      prev: `${origin}/api/v1/customers?page=1`,
      next: `${origin}/api/v1/customers?page=3`,
    },
  })
})

test.each([
  ['without a key', (headers: Record<string, string>) => delete headers['X-API-Key']],
  ['with an unknown key', (headers: Record<string, string>) => (headers['X-API-Key'] = 'nobody')],
  ['with a later timestamp than was signed', (headers: Record<string, string>) => (headers['X-Timestamp'] += '0')],
  ['with a wrong signature', (headers: Record<string, string>) => (headers['X-Signature'] = 'f'.repeat(64))],
])('a request %s is answered 401, without further details', async (_, change) => {
  const { acme: asked } = await serve(acme)
  const answer = await ask(asked, '/customers', { change })
  expect(answer.status).toBe(401)
  expect(answer.body).toEqual({
    success: false,
    error: 'unauthorized',
    message: 'The request is not authenticated.',
    details: {},
  })
})

test('with explanations a refused signature is answered with the string that should have been signed', async () => {
  const { acme: asked } = await serve(acme, { explain401: true, now: () => 1_700_000_000_000 })
  const answer = await ask({ ...asked, secret: 'wrong' }, '/customers?page=1', { atMs: 1_700_000_000_000 })
  expect(answer.status).toBe(401)
  expect(failure(answer).details).toEqual({
    'X-Signature': ['is not the HMAC-SHA256 of string_to_sign in hex, with the secret as UTF-8 text'],
    string_to_sign: ['GET\n/api/v1/customers?page=1\n1700000000\n'],
  })
})

test('the signature is checked over the address as it was sent, not as it is rewritten', async () => {
  const { acme: asked } = await serve(acme)
  const path = "/api/v1/customers?search=o'fixture&per_page=100"
  const url = Object.defineProperty(new URL(asked.baseUrl), 'search', { value: path.slice(path.indexOf('?')) })
  Object.defineProperty(url, 'pathname', { value: '/api/v1/customers' })
  const headers = signedHeaders({ method: 'GET', url }, asked, { unixMs: Date.now() }, recipe)
  const sent = request({ host: url.hostname, port: url.port, path, headers }).end()
  const [response] = await once(sent, 'response')
  response.resume()
  expect(response.statusCode).toBe(200)
})

test('a plan that does not permit reading customers is answered 403', async () => {
  const { acme: asked } = await serve({ ...acme, plan: 'forbidden' as const })
  const answer = await ask(asked, '/customers')
  expect(answer.status).toBe(403)
  expect(failure(answer)).toMatchObject({ error: 'forbidden', details: {} })
})

test.each(['/products', ''])('what the specification does not describe is answered 404: %s', async (path) => {
  const { acme: asked } = await serve(acme)
  const answer = await ask(asked, path)
  expect(answer.status).toBe(404)
  expect(failure(answer).error).toBe('not_found')
})

test('a page larger than the maximum is answered 422 with details, or capped', async () => {
  const refusing = await serve(acme)
  const answer = await ask(refusing.acme, '/customers?per_page=101')
  expect(answer.status).toBe(422)
  expect(failure(answer)).toEqual({
    success: false,
    error: 'validation_error',
    message: 'A query parameter is invalid.',
    details: { per_page: ['The per page field must not be greater than 100.'] },
  })
  const capping = await serve(acme, { largePages: 'cap' })
  expect(list(await ask(capping.acme, '/customers?per_page=101')).meta.per_page).toBe(100)
})

test('over the rate limit a request is answered 429 with the time to wait, until the window ends', async () => {
  let nowMs = 1_700_000_000_000
  const service = await serve({ ...acme, rateLimit: { requests: 2, windowMs: 5000 } }, { now: () => nowMs })
  const take = () => ask(service.acme, '/customers', { atMs: nowMs })

  const first = await take()
  expect(first.status).toBe(200)
  expect(rateHeaders(first.headers)).toEqual(['2', '1', null, null])
  nowMs += 2500
  expect(rateHeaders((await take()).headers)).toEqual(['2', '0', null, null])

  const refused = await take()
  expect(refused.status).toBe(429)
  expect(failure(refused)).toMatchObject({ error: 'rate_limited', details: {} })
  expect(rateHeaders(refused.headers)).toEqual(['2', '0', '3', '1700000005'])
  expect((await ask(service.globex, '/customers', { atMs: nowMs })).status).toBe(200)

  nowMs += 2500
  expect(rateHeaders((await take()).headers)).toEqual(['2', '1', null, null])
})

test('Date is the clock of the service, refusals included', async () => {
  const { acme: asked } = await serve(acme, { now: () => 1_700_000_000_000 })
  const answer = await ask(asked, '/customers', { atMs: 0 })
  expect([answer.status, answer.headers.get('Date')]).toEqual([401, 'Tue, 14 Nov 2023 22:13:20 GMT'])
})

test('an internal failure is answered 500 without its cause', async () => {
  const failing = () => {
    throw new Error('a table of the database is gone')
  }
  const { acme: asked } = await serve({
    ...acme,
    customers: { list: failing },
    rateLimit: { requests: 9, windowMs: 60_000 },
  })
  const answer = await ask(asked, '/customers')
  expect(answer.status).toBe(500)
  expect(failure(answer)).toMatchObject({ error: 'server_error', details: {} })
  expect(JSON.stringify(answer.body)).not.toContain('database')
  expect(answer.headers.get('X-RateLimit-Limit')).toBe('9')
})

function rateHeaders(headers: Headers): (string | null)[] {
  return ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'Retry-After', 'X-RateLimit-Reset'].map((name) =>
    headers.get(name),
  )
}
