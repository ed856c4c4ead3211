import { readdirSync } from 'node:fs'
import { expect, inject, onTestFinished, test, vi } from 'vitest'
import type { SandboxOptions } from '../../src/service/sandbox.ts'
import { SCENARIOS } from '../../src/service/scenarios/scenarios.ts'
import { faultServer, html, list, refusal, type Reply } from '../support/fault-server.ts'
import { someOf } from '../support/seeds.ts'
import { aSandbox, aWorkplace, organizationAt, organizationsOf, type Workplace } from '../support/workplace.ts'

type Found = { assumption: string; state: string; found: string; follows: string | null }

/** What `conformance --json` prints of acme, and the assumptions that do not hold, each with what was found and what follows. */
async function askedAt({ run }: Pick<Workplace, 'run'>) {
  const { code, stdout, stderr } = await run('conformance acme --json')
  if (stdout === '') return { code, stdout, stderr, requests: 0, found: {}, all: [] }
  const { requests, assumptions }: { requests: number; assumptions: Found[] } = JSON.parse(stdout)
  const wrong = assumptions.filter(({ state }) => state !== 'holds')
  const found = Object.fromEntries(
    wrong.map(({ assumption, state, found: what, follows }) => [assumption, `${state}: ${what} → ${follows ?? ''}`]),
  )
  return { code, stdout, stderr, requests, found, all: assumptions }
}

async function asked(options: SandboxOptions, settings: object = {}) {
  let received = 0
  const intercept: SandboxOptions['intercept'] = async (c, next) => {
    received += 1
    return options.intercept === undefined ? next() : options.intercept(c, next)
  }
  const sandbox = await aSandbox({ customers: [1050], dripMs: 10, ...options, intercept })
  const place = aWorkplace(organizationsOf(sandbox, settings))
  return { ...(await askedAt(place)), place, sandbox, received, customers: sandbox.organizations[0]!.list.rows() }
}

const NO_ORDER = { order: /^fails: neither by id nor by created_at → runs are settled at best/ }
const inEach = (scenarios: string, notHolding: Readonly<Record<string, RegExp>>) =>
  Object.fromEntries(scenarios.split(' ').map((scenario) => [scenario, notHolding]))

/** What does not hold in each scenario of the sandbox; in those that are not here, all holds. */
const NOT_HOLDING: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  ...inEach('by-name-churn move move-back heal hidden-order by-name-slow last-change swapped-accounts', NO_ORDER),
  ...inEach('empty-page short-page wrong-page repeat-page html-200', {
    answers: /^copes: 1 page of no use: [\w-]+ → a run asks again, in another size/,
  }),
  ...inEach('flaky-500 truncate', { answers: /^copes: 1\d of \d\d failed → a run asks again/ }),
  'listed-twice': { ...NO_ORDER, records: /^fails: \d+ came twice → runs are unproven/ },
  ties: { 'stable order': /^copes: .*40 rows of a page have one created_at.* → ask the service to sort by id too/ },
  'import-of-one-second': { 'stable order': /^fails: .*66 rows .*, and may be unproven/ },
  unstable: { ...NO_ORDER, 'stable order': /^fails: as before in \d of 7 windows → runs are unproven/ },
  shuffle: { ...NO_ORDER, 'stable order': /^fails: as before in 0 of 7 windows → runs are unproven/ },
  'caps-50': { 'page size': /^copes: 100 is served as 50 → set pageSize: 50$/ },
  'fixed-sizes': { 'other sizes': /^fails: 1 of 3 were served → pages cannot overlap: no run is proven/ },
  'page-1-always': {
    'other sizes': /^fails: 0 of 1/,
    'stable order': /^unknown: no row was read twice/,
    total: /^fails: 1,050, but pages end at position 100 /,
    answers: /^fails: \d+ pages of no use: page-mismatch → runs may fail/,
  },
  'page-1-renumbered': { answers: /^fails: 10 pages of no use: repeated-page/ },
  'total-high': {
    total: /^fails: 1,300, but pages end at position 1,050 → runs are unproven, and remove no customer/,
    search: /^fails: not by email, username, name → removals wait for two proven absences/,
  },
  'total-low': { total: /^fails: 630, and more rows behind / },
  'capped-total': { total: /^fails: 1,000, but a search finds 1,050 → runs are unproven, and remove no customer/ },
  'unequal-replicas': { total: /^fails: it leaps up and down → .*lags behind/ },
  poison: { answers: /^fails: 2 pages of no use: server-error/ },
  'mixed-types': { ...NO_ORDER, records: /^fails: \d+ cannot be read → .*`rejects`/ },
  'clock-skew': { clock: /^copes: its clock is 10 min ahead of ours → learnt by itself/ },
  'stale-cache': { caches: /^fails: 1 answer from before, up to 259,200 s old → have the cache pass/ },
}

const PERSONAL = ['id', 'name', 'username', 'email', 'phone'] as const
const THROTTLED = ['throttle', 'shared-throttle']

const OTHERS = SCENARIOS.map(({ name }) => name).filter((name) => !THROTTLED.includes(name))
const TRIED = someOf(OTHERS, { every: 20 })

test.each(TRIED)('%s: what does not hold is found in 40 requests; no files, no customer shown', async (scenario) => {
  noWaits()
  const { found, place, sandbox, customers, received, requests, code, stdout, all } = await asked({ scenario })
  const expected = NOT_HOLDING[scenario] ?? {}

  const patterns = Object.entries(expected).map(([what, text]) => [what, expect.stringMatching(text)])
  expect(found).toEqual(Object.fromEntries(patterns))
  expect(code).toBe(Object.values(expected).some((text) => text.source.startsWith('^fails')) ? 3 : 0)
  expect(received).toBeLessThanOrEqual(40)
  expect(requests).toBe(received)
  expect(all).toHaveLength(11)
  const files = readdirSync(place.folder, { recursive: true, encoding: 'utf8' })
  expect(files.toSorted()).toEqual(['customer-mirror.yaml', 'data'])
  const secrets = sandbox.organizations.flatMap(({ apiKey, secret }) => [apiKey, secret])
  const personal = customers.flatMap((each) => PERSONAL.map((field) => each[field]))
  expect([...secrets, ...personal].filter((text) => stdout.includes(text))).toEqual([])
})

const WAITED_FOR = THROTTLED.slice(0, inject('isDeep') ? 2 : 1)

test.each(WAITED_FOR)('scenario %s: it waits as it is asked to, and the limit is found', async (scenario) => {
  const { code, found, received, stderr } = await asked({ scenario, customers: [30] })

  expect(found['rate limit']).toMatch(
    /^copes: X-RateLimit-Limit: 5; \d × 429 → set rateLimit.requestsPerMinute: 5, if that is a minute's/,
  )
  expect(code).toBe(0)
  expect(stderr).toMatch(/^Waiting for the service, (1\.0 s|9\d\d ms)\.$/m)
  expect(received).toBeLessThan(20)
})

/** A sandbox that refuses requests of acme with this number, by what is asked for. */
const refusing = (isRefused: (query: Readonly<Record<string, string>>) => boolean) => ({
  intercept: (async (c, next) => {
    if (!isRefused(c.req.query())) return next()
    return c.json({ success: false, error: 'refused', message: 'Not that.' }, 422)
  }) satisfies SandboxOptions['intercept'],
})

const sizeOf = (query: Readonly<Record<string, string>>) => Number(query['per_page'])
const SHOWING_1000 = { ...refusing((query) => Number(query['page']) * sizeOf(query) > 1000), customers: [1234] }

test.each<[what: string, options: SandboxOptions, assumption: string, found: RegExp]>([
  ['refuses pages over 50', refusing((query) => sizeOf(query) > 50), 'page size', /^copes: 100 is refused → .* 50$/],
  ['refuses searches', refusing(({ search }) => search !== undefined), 'search', /^fails: not by email \(refused\)/],
  ['refuses one for @', refusing(({ search = '' }) => /@/.test(search)), 'search', /^copes: by username, name; /],
  ['shows 1,000 of more customers', SHOWING_1000, 'total', /^fails: 1,234, but pages end at position 1,000 /],
  ['has exactly 1,000', { customers: [1000] }, 'total', /^fails: 1,000, where services stop counting/],
])('a service that %s is recognized in at most 40 requests', async (_, options, assumption, expected) => {
  noWaits()
  const { found, received, requests } = await asked(options)

  expect(found[assumption]).toMatch(expected)
  expect(requests).toBeLessThanOrEqual(40)
  expect(received).toBe(requests)
})

test('an empty list is on one page, which proves a run; the rate limit is kept', async () => {
  const startMs = performance.now()
  const rateLimit = { requestsPerMinute: 1200 }
  const { code, all, found, requests } = await asked({ customers: [0] }, { rateLimit })

  expect(performance.now() - startMs).toBeGreaterThanOrEqual((requests - 1) * 50)
  expect(code).toBe(0)
  const order = all.find(({ assumption }) => assumption === 'order')
  expect(order).toMatchObject({ state: 'holds', found: 'there is one page' })
  expect(Object.values(found).every((text) => text.startsWith('unknown: '))).toBe(true)
})

test.each<[what: string, code: number, ...replies: [Reply, ...Reply[]]]>([
  ['asks for a pause of an hour', 5, refusal(429, 'rate_limited', 'Slow down.', { 'Retry-After': '3600' })],
  ['goes down meanwhile', 5, list(1), html(503)],
])('a service that %s ends it with %i, and few requests', async (_, code, ...replies) => {
  noWaits()
  const server = await faultServer(...replies)
  const done = await askedAt(aWorkplace([organizationAt(server, { maxWait: '0s' })]))

  expect(done).toMatchObject({ code, stdout: '' })
  expect(done.stderr).toContain(`GET ${server.origin}/api/v1/customers (page ${replies.length}, per_page 100)`)
  expect(server.requests.length).toBeLessThanOrEqual(2)
})

/** Retries wait for a random time, of which there is none. */
function noWaits(): void {
  const random = vi.spyOn(Math, 'random').mockReturnValue(0)
  onTestFinished(() => random.mockRestore())
}
