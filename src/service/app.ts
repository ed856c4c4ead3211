import { timingSafeEqual } from 'node:crypto'
import type { HttpBindings } from '@hono/node-server'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { addHeaders, addHealth, type Readiness } from '../http/server.ts'
import { type AnswerList, errorEnvelope, type ErrorStatus, send, type Serve } from './answer.ts'
import type { ServiceCustomer } from './customers.ts'
import { type Details, envelopeOf, type ListQuery, matching, readListQuery } from './listing.ts'
import { type Credentials, HEADERS, readTimestamp, type Recipe, signedHeaders, usesNonce } from '../signing/signing.ts'

/** An organization of the service. Its API key identifies its requests. */
export type ServiceOrganization = Credentials & {
  id: string
  /** The current customers, read once for each page, so that a list may change while it is read. None where `answer` needs none. */
  customers?: { list(query: ListQuery): readonly ServiceCustomer[] } | undefined
  recipe: Recipe
  rateLimit?: ServiceLimit | undefined
  /** Answers requests for the list in place of the service. */
  answer?: AnswerList | undefined
}

export type ServiceOptions = {
  organizations: readonly ServiceOrganization[]
  now: () => number
  /** One limit for all organizations without their own. */
  sharedRateLimit?: ServiceLimit | undefined
  /** What `/readyz` reports. */
  examine?: (() => Promise<Readiness>) | undefined
  /** Each sees every request before the service does and every answer after it, and may answer in its place. */
  around?: readonly MiddlewareHandler<ServiceEnv>[] | undefined
}

export type ServiceEnv = { Bindings: Partial<HttpBindings>; Variables: { organization: ServiceOrganization } }

export const BASE_PATH = '/api/v1'

/** The specification as an HTTP application over lists of customers. Where the specification is silent, it works like Laravel. */
export function createService(options: ServiceOptions): Hono<ServiceEnv> {
  const service = new Hono<ServiceEnv>()

  service.use(addHeaders)
  addHealth(service, options.examine)
  service.use(dated(options), ...(options.around ?? []))
  service.use(`${BASE_PATH}/*`, authenticate(options), limitRate(options))

  service.get(`${BASE_PATH}/customers`, async (c) => {
    const { customers, answer = answerHonestly } = c.get('organization')
    const url = urlOf(c)
    const read = readListQuery(url.searchParams)
    if ('details' in read) return fail(c, 422, 'A query parameter is invalid.', read.details)
    const serve: Serve = (query) => {
      const found = matching(customers?.list(query) ?? [], query)
      const rows = found.slice((query.page - 1) * query.perPage, query.page * query.perPage)
      // Like Laravel's paginator, links contain the page and no other parameter.
      return envelopeOf(rows, found.length, { query, address: url.origin + url.pathname })
    }
    return send(c, await answer(read.query, serve, url), c.env.outgoing)
  })

  service.notFound((c) => fail(c, 404, `There is no ${c.req.method} ${c.req.path}.`))
  service.onError((_error, c) => fail(c, 500, 'The service failed to answer this request.'))
  return service
}

const answerHonestly: AnswerList = (query, serve) => ({ kind: 'page', envelope: serve(query) })

/** Puts the service's own clock into `Date`, so that a wrong clock is visible. */
function dated({ now }: ServiceOptions): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    c.header('Date', new Date(now()).toUTCString())
    await next()
    // An answer from a cache carries the date at which it was stored.
    const age = c.res.headers.get('Age')
    if (age !== null) c.header('Date', new Date(now() - Number(age) * 1000).toUTCString())
  }
}

/** Finds the organization by its API key. Only the signature proves the sender. */
function authenticate({ organizations, now }: ServiceOptions): MiddlewareHandler<ServiceEnv> {
  const byKey = new Map(organizations.map((organization) => [organization.apiKey, organization]))
  const isNew = nonceMemory()
  return async (c, next) => {
    const organization = byKey.get(c.req.header(HEADERS.key) ?? '')
    if (organization === undefined) return fail(c, 401, UNAUTHENTICATED)
    c.set('organization', organization)
    const { id, recipe } = organization
    const isOnce = () => !usesNonce(recipe) || isNew(`${id} ${c.req.header(recipe.nonceHeader)}`, now())
    return isSigned(c, now()) && isOnce() ? next() : fail(c, 401, UNAUTHENTICATED)
  }
}

/** Counts a signed request against its organization's limit, and describes the limit on every answer. */
function limitRate({ organizations, sharedRateLimit, now }: ServiceOptions): MiddlewareHandler<ServiceEnv> {
  const shared = sharedRateLimit && rateLimiter(sharedRateLimit)
  const limiters = new Map(organizations.map(({ id, rateLimit }) => [id, rateLimit ? rateLimiter(rateLimit) : shared]))
  return async (c, next) => {
    const turn = limiters.get(c.get('organization').id)?.(now())
    if (turn === undefined) return next()
    c.header('X-RateLimit-Limit', String(turn.limit))
    c.header('X-RateLimit-Remaining', String(turn.remaining))
    if (turn.allowed) return next()
    c.header('Retry-After', String(turn.retryAfterSeconds))
    c.header('X-RateLimit-Reset', String(turn.resetUnixSeconds))
    return fail(c, 429, 'Too many requests. Ask again after the time in Retry-After.')
  }
}

/** Remembers each nonce for as long as its request would be accepted again. Returns whether one is new. */
function nonceMemory(): (nonce: string, nowMs: number) => boolean {
  let [since, recent, before] = [0, new Set<string>(), new Set<string>()]
  return (nonce, nowMs) => {
    if (nowMs - since > 2 * TOLERANCE_MS) [since, recent, before] = [nowMs, new Set(), recent]
    const isNew = !recent.has(nonce) && !before.has(nonce)
    recent.add(nonce)
    return isNew
  }
}

/** Nothing more, as real services do. */
const UNAUTHENTICATED = 'The request is not authenticated.'

/** The address that the client asked, which a proxy that ends TLS says. */
function urlOf(c: Context<ServiceEnv>): URL {
  const url = new URL(c.req.url)
  if (c.req.header('X-Forwarded-Proto') === 'https') url.protocol = 'https:'
  return url
}

/** The address exactly as sent: parsing rewrites `'` and `..`, and signatures over them would not match. */
function urlAsSent(c: Context<ServiceEnv>): URL {
  const url = urlOf(c)
  const target = c.env.incoming?.url
  if (target === undefined || !target.startsWith('/')) return url
  const [, pathname, search] = /^([^?]*)(.*)$/s.exec(target) ?? []
  return Object.defineProperties(url, { pathname: { value: pathname }, search: { value: search } })
}

function fail(c: Context, status: ErrorStatus, message: string, details?: Details): Response {
  return c.json(errorEnvelope(status, message, details), status)
}

/** At most `requests` in each `windowMs` milliseconds. A window starts with the first request after the one before, as in Laravel. */
export type ServiceLimit = { requests: number; windowMs: number }

/** Counts requests, and returns whether each may pass, in the terms of the headers; a refused one is not counted. */
export function rateLimiter({ requests, windowMs }: ServiceLimit) {
  let [remaining, endMs] = [requests, -Infinity]
  return (nowMs: number) => {
    if (nowMs >= endMs) [remaining, endMs] = [requests, nowMs + windowMs]
    const allowed = remaining > 0
    if (allowed) remaining -= 1
    return {
      ...{ allowed, limit: requests, remaining },
      /** Whole seconds until the window ends, at least 1, and the Unix second at which it ends. */
      retryAfterSeconds: Math.ceil((endMs - nowMs) / 1000),
      resetUnixSeconds: Math.ceil(endMs / 1000),
    }
  }
}

/** The allowed difference between a request's timestamp and the clock of the service. */
const TOLERANCE_MS = 300_000

/** Whether a request was signed by its organization just now. */
function isSigned(c: Context<ServiceEnv>, nowMs: number): boolean {
  const { recipe, ...credentials } = c.get('organization')
  const at = readTimestamp(c.req.header(HEADERS.timestamp) ?? '')
  if (at?.form !== recipe.timestamp || Math.abs(at.unixMs - nowMs) > TOLERANCE_MS) return false
  const nonce = c.req.header(recipe.nonceHeader) ?? ''
  if (usesNonce(recipe) && nonce === '') return false
  const request = { method: c.req.method, url: urlAsSent(c) }
  const { [HEADERS.signature]: right } = signedHeaders(request, credentials, { ...at, nonce }, recipe)
  const [expected, given] = [Buffer.from(right ?? ''), Buffer.from(c.req.header(HEADERS.signature) ?? '')]
  return expected.length > 0 && given.length === expected.length && timingSafeEqual(given, expected)
}
