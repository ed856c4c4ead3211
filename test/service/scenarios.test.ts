import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { sandboxCommand } from '../../src/cli/sandbox.ts'
import { UsageError } from '../../src/errors/errors.ts'
import { generateCustomers } from '../../src/service/customers.ts'
import { startSandbox } from '../../src/service/sandbox.ts'
import { SCENARIOS } from '../../src/service/scenarios/scenarios.ts'
import { getPage, played } from './a-sandbox.ts'
import { someOf } from '../support/seeds.ts'

/** Runs the command to its end and gives what it printed. */
async function output(...options: string[]): Promise<string> {
  const [stdout, stderr] = [new PassThrough({ encoding: 'utf8' }), new PassThrough({ encoding: 'utf8' })]
  const signal = AbortSignal.abort()
  await sandboxCommand({ signal, stdout, stderr, exitWith: () => undefined }).parseAsync(options, { from: 'user' })
  return `${String(stdout.read() ?? '')}${String(stderr.read() ?? '')}`
}

test('--list-scenarios prints each name once, with one sentence, and ends', async () => {
  const lines = (await output('--list-scenarios')).trimEnd().split('\n')
  expect(lines.map((line) => line.split(' ')[0])).toEqual(SCENARIOS.map(({ name }) => name))
  expect(new Set(SCENARIOS.map(({ name }) => name)).size).toBe(SCENARIOS.length)
  for (const line of lines) expect(line).toMatch(/^[a-z0-9-]+ {2,}[A-Z].*\.$/)
})

test('--scenario names the scenario', async () => {
  expect(await output('--port', '0', '--customers', '3', '--scenario', 'delete')).toContain('plays the scenario delete')
})

test('an unknown scenario is refused with a suggestion', async () => {
  await expect(startSandbox({ scenario: 'insert-delte' })).rejects.toThrow(UsageError)
  await expect(output('--scenario', 'insert-delte')).rejects.toThrow(
    `There is no scenario "insert-delte" (did you mean "insert-delete"?). 'customer-mirror sandbox --list-scenarios'`,
  )
})

test('customers that were listed all the time are reported as such', async () => {
  const { hand, truth, acme } = await played(undefined, { customers: 4 })
  const [first, second] = acme.customers
  const [newcomer] = generateCustomers({ seed: 'newcomer', count: 1 })
  if (!first || !second || !newcomer) throw new Error('no customer')
  const mark = truth.mark()
  hand.delete(first.id)
  hand.delete(second.id)
  hand.insert(second)
  hand.insert(newcomer)

  expect(truth.lived(mark)).toEqual(new Set(acme.customers.slice(2).map(({ id }) => id)))
  expect(truth.lived(truth.mark())).toEqual(truth.listed())
  expect(truth.listed()).toEqual(new Set([...acme.customers.slice(1).map(({ id }) => id), newcomer.id]))
  expect(truth.everDeleted()).toEqual(new Set([first.id, second.id]))
})

test('what is done by hand is served at once, in the order of the list', async () => {
  const { hand, get, acme } = await played(undefined, { customers: 3 })
  const second = acme.customers[1]
  if (!second) throw new Error('no customer')
  hand.delete(second.id)
  expect((await get(1)).meta.total).toBe(2)
  hand.insert(second)
  expect((await get(1)).ids).toEqual(acme.customers.map(({ id }) => id))
  expect(() => hand.insert(second)).toThrow('is listed already')
  hand.delete(second.id)
  expect(() => hand.delete(second.id)).toThrow(`acme lists no customer ${second.id}`)
})

test('requests are noted in the order they came, whatever they were answered', async () => {
  const { hand, get, acme, sandbox } = await played('fixed-sizes', { customers: 3 })
  await get(1, 100)
  await get(2, 60)
  await get(1, 15, 'someone')
  await fetch(`${acme.baseUrl}/customers?page=4`, { headers: { 'X-API-Key': acme.apiKey } })
  await fetch(`${acme.baseUrl}/customers`)
  expect(hand.requests).toEqual([
    { page: 1, per_page: 100, search: '', status: 200 },
    { page: 2, per_page: 60, search: '', status: 422 },
    { page: 1, per_page: 15, search: 'someone', status: 200 },
    { page: 4, per_page: 15, search: '', status: 401 },
  ])
  expect(() => sandbox.organization('acne')).toThrow('no organization "acne"')
  expect(() => sandbox.truth('acne')).toThrow(UsageError)
})

test('caps-50: more than fifty is served as fifty, and meta says so', async () => {
  const { get, readAll, truth } = await played('caps-50')
  const { ids, meta } = await get(1, 100)
  expect([ids.length, meta.per_page, meta.last_page]).toEqual([50, 50, 20])
  expect((await get(1, 40)).meta.per_page).toBe(40)
  expect(new Set(await readAll(100))).toEqual(truth.listed())
})

test('fixed-sizes: sizes other than 15, 25, 50 and 100 are refused with 422', async () => {
  const { get } = await played('fixed-sizes')
  const statuses = await Promise.all([15, 25, 50, 100, 1, 16, 60, 99].map(async (size) => (await get(1, size)).status))
  expect(statuses).toEqual([200, 200, 200, 200, 422, 422, 422, 422])
  expect((await get(1, 60)).text).toContain('"details":{"per_page":')
})

test('clamp-beyond-last: beyond the last page is the last page under its own number', async () => {
  const { get } = await played('clamp-beyond-last')
  const [last, beyond] = [await get(10), await get(11)]
  expect(beyond.meta.current_page).toBe(10)
  expect(beyond.ids).toEqual(last.ids)
})

test('404-beyond-last: beyond the last page is nothing', async () => {
  const { get } = await played('404-beyond-last')
  expect([(await get(10)).status, (await get(11)).status]).toEqual([200, 404])
  const empty = await played('404-beyond-last', { customers: 0 })
  expect((await empty.get(1)).status).toBe(200)
})

test.each([
  ['empty-page', 0, { from: null, to: null }],
  ['short-page', 60, { from: 501, to: 560 }],
])('%s: once, a page in the middle has %i customers', async (name, length, meta) => {
  const { get, acme } = await played(name)
  expect((await get(5)).ids).toHaveLength(100)
  const short = await get(6)
  expect(short.ids).toEqual(acme.customers.slice(500, 500 + length).map(({ id }) => id))
  expect(short.meta).toMatchObject({ ...meta, current_page: 6, per_page: 100, total: 1000, last_page: 10 })
  expect((await get(6)).ids).toHaveLength(100)
})

test('wrong-page: once, the page before is answered and says so', async () => {
  const { get } = await played('wrong-page')
  const [before, stale, after] = [await get(5), await get(6), await get(6)]
  expect([stale.meta.current_page, after.meta.current_page]).toEqual([5, 6])
  expect(stale.ids).toEqual(before.ids)
})

test('repeat-page: once, the customers of the page before come again under another number', async () => {
  const { get } = await played('repeat-page')
  const [before, repeated, after] = [await get(5), await get(6), await get(6)]
  expect(repeated.meta).toEqual(after.meta)
  expect(repeated.ids).toEqual(before.ids)
  expect(after.ids).not.toEqual(before.ids)
})

test('page-1-always and page-1-renumbered: every page is page 1, with its own number or the one asked for', async () => {
  const [always, renumbered] = [await played('page-1-always'), await played('page-1-renumbered')]
  const first = always.acme.customers.slice(0, 100).map(({ id }) => id)
  for (const page of [1, 2, 10]) {
    const [one, other] = [await always.get(page), await renumbered.get(page)]
    expect([one.ids, one.meta.current_page]).toEqual([first, 1])
    expect([other.ids, other.meta.current_page]).toEqual([first, page])
  }
})

test('total-high: empty pages are promised; total-low: full ones are kept silent about', async () => {
  const [high, low] = [await played('total-high'), await played('total-low')]
  expect((await high.get(1)).meta).toMatchObject({ total: 1250, last_page: 13 })
  expect((await high.get(12)).ids).toEqual([])
  expect((await low.get(6)).meta).toMatchObject({ total: 600, last_page: 6 })
  expect((await low.get(10)).ids).toHaveLength(100)
  expect((await low.get(6)).text).toMatch(/"next":null/)
})

test('poison: every page with one customer is a 500 for ever, however small, and all others are not', async () => {
  const { get, acme } = await played('poison')
  const poison = acme.customers[500]
  const statuses = [await get(6), await get(6), await get(501, 1), await get(1, 100, poison?.email), await get(500, 1)]
  expect(statuses.map(({ status }) => status)).toEqual([500, 500, 500, 500, 200])
  expect((await get(5)).status).toBe(200)
})

test('flaky-500: every third request fails, and asked again it does not', async () => {
  const { get } = await played('flaky-500')
  const asked = [1, 2, 3, 3, 4, 5, 5]
  const statuses: number[] = []
  for (const page of asked) statuses.push((await get(page)).status)
  expect(statuses).toEqual([200, 200, 500, 200, 200, 500, 200])
})

test('truncate: every third answer is cut off in its JSON, and asked again it is whole', async () => {
  const { get, acme } = await played('truncate')
  await get(1)
  await get(2)
  await expect(get(3)).rejects.toThrow('terminated')
  expect((await get(3)).ids).toEqual(acme.customers.slice(200, 300).map(({ id }) => id))
})

test('slow-drip: a sandbox that is closed does not drip on', async () => {
  const { get, sandbox, hand } = await played('slow-drip', { dripMs: 3_600_000 })
  const dripping = get(6)
  // On a busy machine it is closed before the head of the answer has arrived.
  const failure = expect(dripping).rejects.toThrow(/^(terminated|fetch failed)$/)
  await expect.poll(() => hand.requests[0]?.status).toBe(200)
  await sandbox.close()
  await failure
})

test('html-200: once, a page in the middle is for people', async () => {
  const { get } = await played('html-200')
  const [html, json] = [await get(6), await get(6)]
  expect([html.status, html.headers.get('Content-Type')]).toEqual([200, 'text/html; charset=UTF-8'])
  expect(html.text).toMatch(/^<!doctype html>/)
  expect(json.ids).toHaveLength(100)
})

test('throttle: each organization has a budget; shared-throttle: they have one together', async () => {
  const nowMs = Date.now()
  const statusesOf = async (scenario: string) => {
    const { sandbox } = await played(scenario, { organizations: 2, customers: 5, now: () => nowMs })
    const statuses: number[] = []
    for (let turn = 1; turn <= 6; turn += 1) {
      for (const organization of sandbox.organizations) {
        const { status, headers } = await getPage(sandbox, organization, { page: 1, size: 15, search: '' })
        statuses.push(status)
        expect(headers.get('Retry-After')).toBe(status === 429 ? '1' : null)
      }
    }
    return statuses.map((status) => (status === 200 ? '+' : status === 429 ? '-' : '?')).join('')
  }
  expect(await statusesOf('throttle')).toBe('++++++++++--')
  expect(await statusesOf('shared-throttle')).toBe('+++++-------')
})

test('a limit that is asked for goes before that of the scenario', async () => {
  const { get } = await played('shared-throttle', { rateLimits: [{ requests: 77, windowMs: 1000 }] })
  expect((await get(1)).headers.get('X-RateLimit-Limit')).toBe('77')
})

test('clock-skew: the service is ten minutes ahead and refuses our time', async () => {
  const { get } = await played('clock-skew', { now: () => 1_700_000_000_000 })
  const { status, headers } = await get(1)
  expect([status, headers.get('Date')]).toEqual([401, 'Tue, 14 Nov 2023 22:23:20 GMT'])
})

test('mixed-types: each kind of odd record is sent, and ids that are not sent do not count as lost', async () => {
  const { get, truth } = await played('mixed-types')
  const pages = await Promise.all(Array.from({ length: 10 }, (_, index) => get(index + 1)))
  const text = pages.map((page) => page.text).join('')
  const kinds = [
    ...[/"phone":\d/, /"loyalty_tier":"gold"/, /"company_name":null/, /"id":"[^"a-f]*[A-F][^"]*"/],
    ...[/"created_at":"\d{4}-\d\d-\d\d \d/, /\+00:00"/, /"some time in spring"/, /"created_at":\d/, /"email":""/],
    ...[/\\ud83d"/, /@localhost"/],
  ]
  for (const kind of kinds) expect(text).toMatch(kind)
  const records = pages.flatMap(({ data }) => data.map((record) => Object.keys(Object(record))))
  expect(records.filter((fields) => !fields.includes('id'))).toHaveLength(20)
  expect(records.filter((fields) => !fields.includes('language')).length).toBeGreaterThan(50)
  expect(truth.listed()).toEqual(new Set(pages.flatMap(({ ids }) => ids.map((id) => id.toLowerCase()))))
})

test.each(
  someOf(
    SCENARIOS.map(({ name }) => name),
    { every: 5 },
  ),
)('%s: an organization without customers is answered', async (name) => {
  const { get } = await played(name, { customers: 0 })
  for (const size of [15, 100]) expect([200, 401]).toContain((await get(1, size)).status)
})

test('stale-cache: a page of a hundred comes again as it was, with its age, and in another size as it is', async () => {
  const nowMs = Math.floor(Date.now() / 1000) * 1000
  const { get, hand } = await played('stale-cache', { now: () => nowMs, customers: 250 })
  const first = await get(3, 100)
  for (let turn = 1; turn <= 4; turn += 1) await get(turn, 50)
  const again = await get(3, 100)
  expect(first.ids).toHaveLength(50)
  expect(again.ids).toEqual(first.ids)
  expect(again.headers.get('Age')).toBe('259200')
  expect(Date.parse(again.headers.get('Date') ?? '')).toBe(nowMs - 259_200_000)
  const otherwise = await get(6, 50)
  expect(otherwise.ids).toContain(hand.customers.at(-1)?.id)
  expect([otherwise.headers.get('Age'), hand.customers.length]).toEqual([null, 251])
})

test('growing-last-page: the end is never reached, and every page on the way is full of new customers', async () => {
  const { get } = await played('growing-last-page', { customers: 150 })
  const seen = new Set<string>()
  for (let page = 1; page <= 8; page += 1) {
    const { ids, meta } = await get(page)
    for (const id of ids) seen.add(id)
    expect(meta.last_page).toBe(page + 2)
    expect(meta.total).toBe((page + 2) * 100)
  }
  expect(seen.size).toBe(800)
})
