import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { quoted } from '../../src/source/refusal.ts'
import { aSource, CREDENTIALS, everythingIn, PATIENT, rejection, virtualTime } from './a-source.ts'
import { onThisMachine } from '../support/eventually.ts'
import { bytes, cut, faultServer, hang, html, json, list, refusal, type Reply } from '../support/fault-server.ts'

const FIRST = { page: 1, size: 50 }
const NOW_MS = 1_700_000_000_000

const dateOf = (offsetMs: number): { Date: string } => ({ Date: new Date(NOW_MS + offsetMs).toUTCString() })

test.each([
  [400, 'unprocessable', /baseUrl, pageSize and the signing/],
  [401, 'unauthorized', /API key, the secret and the signing recipe.*signing explain/],
  [403, 'forbidden', /plan/],
  [404, 'not-found', /Check baseUrl/],
])('a %i stops the organization at once, in JSON and in HTML, and says what to do', async (status, code, advice) => {
  await using server = await faultServer(refusal(status, 'some_code', 'Said so'), html(status))
  const { source } = aSource(server)
  const inJson = await rejection(source.readPage(FIRST, PATIENT))
  expect(inJson).toMatchObject({ name: 'SourceRefused', code, status })
  expect(String(inJson)).toContain('(some_code: "Said so")')
  expect(String(inJson)).toMatch(advice)
  const inHtml = await rejection(source.readPage(FIRST, PATIENT))
  expect(inHtml).toMatchObject({ name: 'SourceRefused', code, status })
  expect(String(inHtml)).toMatch(/ with HTML instead of JSON\. .*a proxy or a firewall in between/)
  expect(String(inJson)).not.toMatch(/HTML|proxy/)
  expect(String(inHtml)).not.toContain('<h1>')
  expect(server.requests).toHaveLength(2)
})

test.each([
  [401, true],
  [403, false],
  [422, false],
])('where answers may hold values, what was said with a %i is quoted: %s', async (status, isQuoted) => {
  await using server = await faultServer(refusal(status, 'some_code', 'No access for Ada Lovelace'))
  const { source } = aSource(server, { quotesAnswers: false })

  expect(String(await rejection(source.readPage(FIRST, PATIENT))).includes('Ada Lovelace')).toBe(isQuoted)
})

test('a 407 is put down to the proxy that gives it', async () => {
  await using server = await faultServer(html(407))

  expect(String(await rejection(aSource(server).source.readPage(FIRST, PATIENT)))).toMatch(
    /answered 407.*A proxy in between asks for credentials/,
  )
})

/** Accepts signatures whose second is within a minute of its own clock. */
function strictAboutTime(aheadMs: number): Reply {
  return (response, request) => {
    const ownSecond = (NOW_MS + aheadMs) / 1000
    const isClose = Math.abs(Number(request.headers['x-timestamp']) - ownSecond) <= 60
    const reply = isClose ? list(3) : refusal(401, 'stale', 'Timestamp too far off', dateOf(aheadMs))
    return reply(response, request)
  }
}

test.each([3_600_000, -3_600_000])(
  'a service %i ms ahead is signed for by its own clock after one refusal',
  async (ms) => {
    await using server = await faultServer(strictAboutTime(ms))
    const { source, events } = aSource(server)
    await source.readPage(FIRST, PATIENT)
    await source.readPage({ page: 2, size: 50 }, PATIENT)
    expect(server.requests).toHaveLength(3)
    expect(source.clockOffsetMs).toBeGreaterThan(ms - 2000)
    expect(source.clockOffsetMs).toBeLessThan(ms + 2000)
    expect(events).toEqual([{ kind: 'clock-corrected', offsetMs: source.clockOffsetMs }])
  },
)

test('requests refused together for the clock correct it once and are all read', async () => {
  await using server = await faultServer(strictAboutTime(3_600_000))
  const { source, events } = aSource(server)
  await Promise.all([1, 2, 3, 4].map((page) => source.readPage({ page, size: 50 }, PATIENT)))
  expect(events).toHaveLength(1)
})

test.each([
  [60_000, /6[01] s behind the service's, but signing with the corrected time was refused too/, 2],
  [-60_000, /(59|60) s ahead of the service's, but signing with the corrected time was refused too/, 2],
  [2000, /Check the API key/, 1],
])('a page refused by a service %i ms ahead says whether the clock may be why', async (offsetMs, message, requests) => {
  await using server = await faultServer(refusal(401, 'unauthorized', 'No', dateOf(offsetMs)))
  const error = await rejection(aSource(server).source.readPage(FIRST, PATIENT))
  expect(String(error)).toMatch(message)
  expect(server.requests).toHaveLength(requests)
})

test.each([
  [27 * 365.25, '2050-11'],
  [-1.01, '2023-11-13'],
  [-20 * 365.25, '2003-11'],
])('a service whose date is %d days off is not signed for by that date, and the error says so', async (days, named) => {
  const forged = dateOf(days * 86_400_000)
  await using server = await faultServer(refusal(401, 'stale', 'Timestamp too far off', forged))
  const { source, events } = aSource(server)
  const error = await rejection(source.readPage(FIRST, PATIENT))
  expect(error).toMatchObject({ name: 'SourceRefused', code: 'unauthorized' })
  expect(String(error)).toMatch(/answered 401.*at most 24 hours.*Set the clock.*wrong Date/)
  expect(String(error)).toContain(named)
  expect(events).toEqual([])
  expect(server.requests.map(({ headers }) => headers['x-timestamp'])).toEqual([String(NOW_MS / 1000)])
})

test.each([408, 425, 500, 599])('a %i is an outage', async (status) => {
  await using server = await faultServer(json(status, {}))

  expect(await rejection(aSource(server, { attempts: 1 }).source.readPage(FIRST, PATIENT))).toMatchObject({
    name: 'SourceUnavailable',
    code: 'server-error',
    status,
  })
})

test.each([
  ['never ends', ((response) => void response.writeHead(403).write('{')) satisfies Reply],
  ['cannot be decompressed', bytes(403, 'x', { 'Content-Encoding': 'gzip' })],
  ['unpacks to far more', bytes(403, gzipSync(Buffer.alloc(9_000_000)), { 'Content-Encoding': 'gzip' })],
])('the status of a refusal counts when its body %s', async (_, reply) => {
  await using server = await faultServer(reply)
  const error = await rejection(
    aSource(server, { requestTimeoutMs: onThisMachine(300) }).source.readPage(FIRST, PATIENT),
  )
  expect(error).toMatchObject({ name: 'SourceRefused', status: 403 })
  expect(String(error).length).toBeLessThan(400)
})

test.each([
  ['cuts a long message', 'a b '.repeat(200), (text: string) => text.length < 220 && text.includes('…')],
  [
    'drops control characters and line breaks',
    'a\u0000b\u001b[31m\nc\u202ed',
    (text: string) => text === ' ("a b [31m c d")',
  ],
  ['masks an address', 'no customer1@example.com here', (text: string) => text === ' ("no […] here")'],
  ['masks a secret', `bad ${CREDENTIALS.secret}!`, (text: string) => text === ' ("bad […]!")'],
  ['masks a signature it names', `expected sha256=${'a1'.repeat(32)}`, (text: string) => text === ' ("expected […]")'],
])('a quotation %s', (_, message, isRight) => {
  const text = quoted(JSON.stringify({ success: false, message }), [CREDENTIALS.secret])
  expect(text, JSON.stringify(text)).toSatisfy(isRight)
})

test.each(['', '<p>html</p>', '{"message":5,"error":{}}', '{"success":true,"message":"x"}'])(
  'a body of %j is not quoted',
  (text) => {
    expect(quoted(text, [])).toBe('')
  },
)

/** Repeats in its body whatever it was sent, as careless services do. */
function echo(status: number): Reply {
  return (response, request) => {
    const { headers } = request
    const sent = `${String(headers['x-api-key'])} ${String(headers['x-signature'])} ${CREDENTIALS.secret}`
    return refusal(status, String(headers['x-api-key']), `you sent ${sent}`, { 'Retry-After': 1 })(response, request)
  }
}

test.each<[string, Reply]>([
  ...[200, 201, 302, 400, 401, 403, 404, 418, 422, 429, 500, 503].map((status): [string, Reply] => [
    `${status}`,
    echo(status),
  ]),
  ['hang', hang()],
  ['cut', cut('{}')],
])('no key, secret or signature is in anything that an error holds: %s', async (_, reply) => {
  await using server = await faultServer(reply)
  const { source } = aSource(server, { requestTimeoutMs: 250, attempts: 1, maxWaitMs: 0 })
  const error = await rejection(source.readPage(FIRST, PATIENT))
  const text = everythingIn(error)
  const signatures = server.requests.map(({ headers }) => String(headers['x-signature']))
  expect(signatures.length).toBeGreaterThan(0)
  for (const secret of [CREDENTIALS.apiKey, CREDENTIALS.secret, ...signatures]) expect(text).not.toContain(secret)
})

test('where no request is left, none is sent again with a corrected clock', async () => {
  await using server = await faultServer(strictAboutTime(3_600_000))
  const { source, events } = aSource(server)
  const error = await rejection(source.readPage(FIRST, { ...PATIENT, mayAskMore: () => false }))
  expect(error).toMatchObject({ name: 'SourceRefused', code: 'unauthorized' })
  expect(server.requests).toHaveLength(1)
  expect(events).toEqual([])
})

test('a secret that begins with another one is masked as a whole', () => {
  const body = JSON.stringify({ success: false, message: 'no key ab-12-cd-34 here' })

  expect(quoted(body, ['ab-12', 'ab-12-cd-34'])).toBe(' ("no key […] here")')
})

test('the advice names the organization, where that is known', async () => {
  await using server = await faultServer(refusal(401, 'unauthorized', 'No'))
  const { source } = aSource(server, { organization: 'acme' })

  expect(String(await rejection(source.readPage(FIRST, PATIENT)))).toContain("'customer-mirror signing explain acme'")
})

const HOUR_MS = 3_600_000

/** Virtual time with a wall clock beside it that can be set. */
function settableTime() {
  const time = virtualTime()
  let aheadMs = 0
  return {
    ...time,
    now: () => time.monotonicMs() + aheadMs,
    setWallClock: (byMs: number) => {
      aheadMs += byMs
    },
  }
}

test.each([
  ['from an hour behind to the right time', -HOUR_MS, 0],
  ['from an hour ahead to an hour behind', HOUR_MS, -HOUR_MS],
])(
  'a request under way while the wall clock is set %s is signed once more where it was refused',
  async (_, before, after) => {
    const time = settableTime()
    const checked: Reply = (response, request) => {
      const differenceMs = Number(request.headers['x-timestamp']) * 1000 - time.monotonicMs()
      if (server.requests.length === 1) time.setWallClock(after - before)
      const headers = { Date: new Date(time.monotonicMs()).toUTCString() }
      const isRefused = Math.abs(differenceMs) > 300_000
      return (isRefused ? refusal(401, 'unauthenticated', 'no', headers) : list(900, { headers }))(response, request)
    }
    await using server = await faultServer(checked)
    time.setWallClock(before)
    const { source } = aSource(server, {}, time)

    expect(await source.readPage({ page: 1, size: 100 }, PATIENT)).toMatchObject({ total: 900 })
    expect(await source.readPage({ page: 2, size: 100 }, PATIENT)).toMatchObject({ total: 900 })
  },
)
