import { expect, test } from 'vitest'
import { aSource, dateOf, NOW_MS, PATIENT, rejection, virtualTime } from './a-source.ts'
import { envelopeOf, faultServer, json, list, refusal, type Reply } from '../support/fault-server.ts'
import { DAY_MS } from '../support/builders.ts'

const WINDOW = { page: 1, size: 50 }

/** A service whose clock is ahead by so much, behind a cache that answers pages, and no search, with that much older dates. */
function behindCache({ aheadMs = 0, oldMs }: { aheadMs?: number; oldMs: (request: number) => number }): Reply {
  let requests = 0
  return (response, request) => {
    const isSearch = request.url.searchParams.has('search')
    const ageMs = isSearch ? 0 : oldMs((requests += 1))
    return json(200, envelopeOf(isSearch ? 0 : 500, request), dateOf(aheadMs - ageMs))(response, request)
  }
}

test.each(['6', '259200'])('an answer that says it is %s seconds old is refused', async (age) => {
  const server = await faultServer(list(500, { headers: { Age: age } }))
  const error = await rejection(aSource(server).source.readPage(WINDOW, PATIENT))
  expect(error).toMatchObject({ name: 'ContractBroken', code: 'cached-answer' })
  expect(String(error)).toMatch(/customers \(page 1, per_page 50\).*made before the request.*No row.*kept.*pass/)
})

test.each(['0', '-7', ''])('an age of "%s" is none', async (age) => {
  const server = await faultServer(list(500, { headers: { Age: age, ...dateOf(0) } }))
  const page = await aSource(server).source.readPage(WINDOW, PATIENT)
  expect(page.records()).toHaveLength(50)
  expect(server.requests).toHaveLength(1)
})

test.each([
  ['by a service whose clock agrees', 0],
  ['by a service an hour ahead', 3_600_000],
])('the very first answer, with the date of three days ago, does not count as current: %s', async (_, aheadMs) => {
  const server = await faultServer(behindCache({ aheadMs, oldMs: () => 3 * DAY_MS }))
  const { source } = aSource(server)
  const error = await rejection(source.readPage(WINDOW, PATIENT))
  expect(error).toMatchObject({ code: 'cached-answer' })
  expect(Math.abs((source.clockOffsetMs ?? Number.NaN) - aheadMs)).toBeLessThan(2000)
})

test.each([-3_600_000, -10 * DAY_MS, 3_600_000])(
  'a service whose clock is off by %i ms is read, and asked for the time once',
  async (aheadMs) => {
    const server = await faultServer(behindCache({ aheadMs, oldMs: () => 0 }))
    const { source } = aSource(server)
    for (let page = 1; page <= 5; page += 1) await source.readPage({ page, size: 50 }, PATIENT)
    expect(server.requests).toHaveLength(6)
    expect(source.counters.requests).toBe(6)
  },
)

test('where the question for its time is answered with a 429 that names a time, no request is sent before that', async () => {
  const pauseMs = 7000
  const until = { 'Retry-After': dateOf(-3_600_000 + pauseMs).Date }
  const time = virtualTime(NOW_MS)
  const [aheadMs, askedMs]: [number, number[]] = [-3_600_000, []]
  const server = await faultServer((response, request) => {
    askedMs.push(time.now() - NOW_MS)
    const date = dateOf(aheadMs + time.now() - NOW_MS)
    const isTime = request.url.searchParams.has('search')
    const reply = isTime ? refusal(429, 'slow', 'down', { ...date, ...until }) : list(500, { headers: date })
    return reply(response, request)
  })
  const { source } = aSource(server, {}, time)
  for (const page of [1, 2]) await source.readPage({ page, size: 50 }, PATIENT)
  expect(askedMs).toEqual([0, 0, pauseMs])
  expect(source.counters.waitedMs).toBe(pauseMs)
})

test('where the clock of the service is behind, only an answer that is older still is refused', async () => {
  const aheadMs = -3_600_000
  const server = await faultServer(behindCache({ aheadMs, oldMs: (request) => (request === 3 ? 60_000 : 0) }))
  const { source } = aSource(server)
  const codes: unknown[] = []
  for (let page = 1; page <= 5; page += 1) {
    const read = source.readPage({ page, size: 50 }, PATIENT).then(() => ({ code: 'read' }))
    codes.push(Object(await read.catch((error: unknown) => error)).code)
  }
  expect(codes).toEqual(['read', 'read', 'cached-answer', 'read', 'read'])
  expect(server.requests.filter(({ url }) => !url.searchParams.has('search'))).toHaveLength(5)
})

test('a cached date does not teach the clock that signs: the date of the refusal itself does', async () => {
  const serve: Reply = (response, request) => {
    const isSearch = request.url.searchParams.has('search')
    const ahead = Number(request.headers['x-timestamp']) * 1000 - NOW_MS
    if (request.page === 1 && !isSearch) return list(500, { headers: dateOf(-DAY_MS / 2) })(response, request)
    const reply = Math.abs(ahead - 600_000) < 5000 ? list(500, { headers: dateOf(600_000) }) : refused
    return reply(response, request)
  }
  const refused = refusal(401, 'stale', 'Timestamp too far off', dateOf(600_000))
  const server = await faultServer(serve)
  const { source } = aSource(server)
  expect(await rejection(source.readPage(WINDOW, PATIENT))).toMatchObject({ code: 'cached-answer' })
  expect((await source.readPage({ page: 2, size: 50 }, PATIENT)).records()).toHaveLength(50)
  const signed = server.requests.map(({ headers }) => Number(headers['x-timestamp']) * 1000 - NOW_MS)
  for (const aheadMs of signed) expect(aheadMs).toBeGreaterThanOrEqual(0)
})
