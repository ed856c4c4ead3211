import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { quoted } from '../../src/source/refusal.ts'
import { onThisMachine } from '../support/eventually.ts'
import { bytes, faultServer, html, json, list, refusal, type Reply } from '../support/fault-server.ts'
import { aSource, CREDENTIALS, dateOf, everythingIn, NOW_MS, PATIENT, readFrom, virtualTime } from './a-source.ts'
import { HOUR_MS } from '../support/builders.ts'

test.each([
  [400, 'unprocessable', /baseUrl, pageSize and the signing/],
  [401, 'unauthorized', /API key, the secret and the signing recipe.*signing explain acme'/],
  [403, 'forbidden', /plan/],
  [404, 'not-found', /Check baseUrl/],
  [416, 'unprocessable', /has no such page/],
  [422, 'unprocessable', /Lower pageSize/],
])('a %i stops the organization at once, in JSON and in HTML, and says what to do', async (status, code, advice) => {
  const settings = { organization: 'acme' }
  const { error: inJson, server } = await readFrom(refusal(status, 'some_code', 'Said so'), { settings })
  const { error: inHtml } = await readFrom(html(status), { settings })
  for (const error of [inJson, inHtml]) expect(error).toMatchObject({ name: 'SourceRefused', code, status })
  expect(String(inJson)).toContain('(some_code: "Said so")')
  expect(String(inJson)).toMatch(advice)
  expect(String(inHtml)).toMatch(/ with HTML instead of JSON\. .*a proxy or a firewall in between/)
  expect(String(inHtml)).not.toContain('<h1>')
  expect(server.requests).toHaveLength(1)
})

test.each([
  ['a 401', refusal(401, 'some_code', 'No access for Ada Lovelace')],
  ['a 403', refusal(403, 'some_code', 'No access for Ada Lovelace')],
  ['a redirect', bytes(302, '', { Location: 'https://lovelace.example.com' })],
])('where answers may hold values, nothing of %s is quoted', async (_, reply) => {
  const [plain, hiding] = [await readFrom(reply), await readFrom(reply, { settings: { quotesAnswers: false } })]
  expect(String(plain.error)).toMatch(/lovelace/i)
  expect(String(hiding.error)).not.toMatch(/lovelace/i)
})

/** Accepts signatures whose second is within a minute of its own clock. */
function strictAboutTime(aheadMs: number): Reply {
  return (response, request) => {
    const ownSecond = (NOW_MS + aheadMs) / 1000
    const isClose = Math.abs(Number(request.headers['x-timestamp']) - ownSecond) <= 60
    const headers = dateOf(aheadMs)
    const reply = isClose ? list(3, { headers }) : refusal(401, 'stale', 'Timestamp too far off', headers)
    return reply(response, request)
  }
}

test('requests refused together for the clock correct it once and are all read; none does where no request is left', async () => {
  const server = await faultServer(strictAboutTime(HOUR_MS))
  const { source, events } = aSource(server)
  const last = source.readPage({ page: 1, size: 50 }, { ...PATIENT, mayAskMore: () => false })
  await expect(last).rejects.toMatchObject({ name: 'SourceRefused', code: 'unauthorized' })
  expect([server.requests.length, events]).toEqual([1, []])
  await Promise.all([1, 2, 3, 4].map((page) => source.readPage({ page, size: 50 }, PATIENT)))
  expect(events).toEqual([{ kind: 'clock-corrected', offsetMs: source.clockOffsetMs }])
  // The service is not asked for its time besides.
  expect(server.requests.filter(({ url }) => url.searchParams.has('search'))).toEqual([])
})

test.each([
  [60_000, /6[01] s behind the service's, but signing with the corrected time was refused too/, 2],
  [-60_000, /(59|60) s ahead of the service's, but signing with the corrected time was refused too/, 2],
  [2000, /Check the API key/, 1],
])('a page refused by a service %i ms ahead says whether the clock may be why', async (offsetMs, message, requests) => {
  const { error, server } = await readFrom(refusal(401, 'unauthorized', 'No', dateOf(offsetMs)))
  expect(String(error)).toMatch(message)
  expect(server.requests).toHaveLength(requests)
})

test.each([27 * 365.25, -1.01])(
  'a service whose date is %d days off is not signed for by that date, and the error says so',
  async (days) => {
    const reply = refusal(401, 'stale', 'Timestamp too far off', dateOf(days * 86_400_000))
    const { error, server, events } = await readFrom(reply)
    expect(error).toMatchObject({ name: 'SourceRefused', code: 'unauthorized' })
    expect(String(error)).toMatch(/answered 401.*The clock of this machine.*set it.*at most 24 hours/)
    expect(events).toEqual([])
    expect(server.requests.map(({ headers }) => headers['x-timestamp'])).toEqual([String(NOW_MS / 1000)])
  },
)

test.each([408, 425, 500, 599])('a %i is an outage, and what is said with it is never quoted', async (status) => {
  const debug = { message: 'SQLSTATE customer1@example.com', exception: 'PDOException', trace: [] }
  const { error, server } = await readFrom(json(status, debug))
  expect(error).toMatchObject({ name: 'SourceUnavailable', code: 'server-error', status })
  expect(server.requests).toHaveLength(5)
  expect(everythingIn(error)).not.toMatch(/SQLSTATE|PDO|customer1/)
})

test.each([
  ['never ends', ((response) => void response.writeHead(403).write('{')) satisfies Reply],
  ['cannot be decompressed', bytes(403, 'x', { 'Content-Encoding': 'gzip' })],
  ['unpacks to far more', bytes(403, gzipSync(Buffer.alloc(9_000_000)), { 'Content-Encoding': 'gzip' })],
])('the status of a refusal counts when its body %s', async (_, reply) => {
  const { error } = await readFrom(reply, { settings: { requestTimeoutMs: onThisMachine(300) } })
  expect(error).toMatchObject({ name: 'SourceRefused', status: 403 })
  expect(String(error).length).toBeLessThan(400)
})

test.each([
  ['of control characters and line breaks', 'a\u0000b\u001b[31m\nc\u202ed', ' ("a b [31m c d")'],
  ['of an address', 'no customer1@example.com here', ' ("no […] here")'],
  ['of a secret', `bad ${CREDENTIALS.secret}!`, ' ("bad […]!")'],
  ['of a secret in capitals', `bad ${CREDENTIALS.secret.toUpperCase()}!`, ' ("bad […]!")'],
  ['of a secret as in an address', 'bad a%2fb%20c', ' ("bad […]")'],
  ['of a secret that begins with another one', 'no key ab-12-cd-34 here', ' ("no key […] here")'],
  ['of a signature it names', `expected sha256=${'a1'.repeat(32)}`, ' ("expected […]")'],
  ['that is long', 'a b '.repeat(200), expect.stringMatching(/^.{150,220}…"\)$/)],
])('a quotation %s is fit for a message', (_, message, expected) => {
  const secrets = [CREDENTIALS.secret, 'ab-12', 'ab-12-cd-34', 'a/b c']
  expect(quoted(JSON.stringify({ success: false, message }), secrets)).toEqual(expected)
})

test.each(['', '<p>html</p>', '{"message":5,"error":{}}', '{"success":true,"message":"x"}'])(
  'a body of %j is not quoted',
  (text) => expect(quoted(text, [])).toBe(''),
)

test('no key, secret or signature that a service repeats is in anything that an error holds', async () => {
  const sent: string[] = [CREDENTIALS.apiKey, CREDENTIALS.secret]
  const { error } = await readFrom((response, request) => {
    sent.push(String(request.headers['x-signature']))
    return refusal(403, CREDENTIALS.apiKey, `you sent ${sent.join(' ')}`)(response, request)
  })
  for (const secret of sent) expect(everythingIn(error)).not.toContain(secret)
  const redirected = await readFrom(bytes(302, '', { Location: `https://${CREDENTIALS.apiKey}.example.com` }))
  expect(String(redirected.error)).toContain('a redirect ("[…].example.com")')
})

test.each([
  ['from an hour behind to the right time', -HOUR_MS, 0],
  ['from an hour ahead to an hour behind', HOUR_MS, -HOUR_MS],
])(
  'a request under way while the wall clock is set %s is signed once more where it was refused',
  async (_, before, after) => {
    const time = virtualTime()
    let aheadMs = before
    const checked: Reply = (response, request) => {
      const differenceMs = Number(request.headers['x-timestamp']) * 1000 - time.monotonicMs()
      aheadMs = after
      const headers = { Date: new Date(time.monotonicMs()).toUTCString() }
      const isRefused = Math.abs(differenceMs) > 300_000
      return (isRefused ? refusal(401, 'unauthenticated', 'no', headers) : list(900, { headers }))(response, request)
    }
    const options = { ...time, now: () => time.monotonicMs() + aheadMs }
    const { source, page } = await readFrom(checked, { options })

    expect(page).toMatchObject({ total: 900 })
    expect(await source.readPage({ page: 2, size: 100 }, PATIENT)).toMatchObject({ total: 900 })
  },
)
