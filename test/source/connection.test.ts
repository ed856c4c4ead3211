import { generateKeyPairSync, sign } from 'node:crypto'
import { getEventListeners } from 'node:events'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { factsOf } from '../../src/errors/errors.ts'
import { DEFAULT_PRESET, recipeOf, signature, stringToSign } from '../../src/signing/signing.ts'
import { unreachable } from '../../src/source/connection.ts'
import { aSource, CREDENTIALS, PATIENT, rejection } from './a-source.ts'
import {
  bytes,
  cut,
  envelopeOf,
  faultServer,
  hang,
  json,
  list,
  redirect,
  type Reply,
  slam,
  tlsFaultServer,
} from '../support/fault-server.ts'

const FIRST = { page: 1, size: 100 }
const BODY = JSON.stringify(envelopeOf(3, FIRST))

test('a page is asked for with the canonical query and every header, and the signature is for what was sent', async () => {
  await using server = await faultServer(list(250))
  const { source, now } = aSource(server)
  await source.readPage({ page: 2, size: 100 }, PATIENT)
  const [request] = server.requests
  expect(request?.method).toBe('GET')
  expect(`${request?.url.pathname}${request?.url.search}`).toBe('/api/v1/customers?page=2&per_page=100')
  expect(request?.headers).toMatchObject({
    accept: 'application/json',
    'content-type': 'application/json',
    'accept-encoding': 'gzip, deflate, br',
    'cache-control': 'no-cache',
    'user-agent': 'customer-mirror/test',
    'x-api-key': CREDENTIALS.apiKey,
    'x-timestamp': String(now() / 1000),
  })
  const recipe = recipeOf(DEFAULT_PRESET)
  const text = `GET\n/api/v1/customers?page=2&per_page=100\n${now() / 1000}\n`
  expect(request?.headers['x-signature']).toBe(signature(text, CREDENTIALS.secret, recipe))
  expect(stringToSign({ method: 'GET', url: request?.url ?? server.baseUrl }, '', { unixMs: now() }, recipe)).toBe(text)
})

test.each([['a body that stops', cutShortOfEnd()]])('%s ends with the request timeout', async (_, reply) => {
  await using server = await faultServer(reply)
  const { source } = aSource(server, { requestTimeoutMs: 250, attempts: 1 })
  expect(await rejection(source.readPage(FIRST, PATIENT))).toMatchObject({ name: 'SourceUnavailable', code: 'network' })
})

function cutShortOfEnd(): Parameters<typeof faultServer>[0] {
  return (response) => {
    response.writeHead(200, { 'Content-Length': BODY.length })
    response.write(BODY.slice(0, 50))
  }
}

test.each([
  ['in the middle of a compressed body', cut(gzipSync(BODY), 0.5, { 'Content-Encoding': 'gzip' })],
  ['in a body without a length', cutChunked()],
])('a connection cut %s is asked about again, and the page is read', async (_, reply) => {
  await using server = await faultServer(reply, list(3))
  expect((await aSource(server).source.readPage(FIRST, PATIENT)).records()).toHaveLength(3)
  expect(server.requests).toHaveLength(2)
})

function cutChunked(): Parameters<typeof faultServer>[0] {
  return (response) => {
    response.writeHead(200)
    response.write(BODY.slice(0, 50), () => response.destroy())
  }
}

test('a port without a listener is unavailable, with the cause kept', async () => {
  const server = await faultServer(hang())
  await server.close()
  const { source } = aSource(server, { attempts: 2 })
  const error = await rejection(source.readPage(FIRST, PATIENT))
  expect(error).toMatchObject({ name: 'SourceUnavailable', code: 'network', cause: { code: 'ECONNREFUSED' } })
  expect(source.counters.requests).toBe(2)
})

test.each([
  ['/login', /login page.*API key/s],
  ['/elsewhere', /Check baseUrl/],
  [undefined, /nowhere readable/],
  ['http://[broken', /nowhere readable/],
  ['javascript:alert(1)', /a redirect to a javascript: address without a host, which is never followed/],
])('a redirect to %s says what to check', async (location, message) => {
  await using server = await faultServer(redirect(302, location))
  expect(String(await rejection(aSource(server).source.readPage(FIRST, PATIENT)))).toMatch(message)
})

test('an untrusted certificate is refused before any request, whatever the environment says', async () => {
  await using server = await tlsFaultServer(selfSigned(), list(3))
  const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED']
  try {
    for (const value of ['1', '0']) {
      process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = value
      const error = await rejection(aSource(server).source.readPage(FIRST, PATIENT))
      expect(error).toMatchObject({ name: 'SourceUnavailable', code: 'tls' })
      expect(String(error)).toMatch(/DEPTH_ZERO_SELF_SIGNED_CERT.*NODE_EXTRA_CA_CERTS/)
    }
  } finally {
    if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before
  }
  expect(server.requests).toHaveLength(0)
})

test('https to a port that speaks plain http is a TLS failure and is not tried again', async () => {
  await using server = await faultServer(list(3))
  const { source } = aSource({ baseUrl: new URL(server.baseUrl.href.replace('http:', 'https:')) })
  const error = await rejection(source.readPage(FIRST, PATIENT))
  expect(error).toMatchObject({ name: 'SourceUnavailable', code: 'tls' })
  expect(String(error)).toMatch(/this port answers without TLS.*Check the port in baseUrl/)
  expect(String(error)).not.toMatch(/certificate|trusted/)
  expect(source.counters.requests).toBe(1)
})

test('a 304 is no redirect: the cache that gave it is named, and baseUrl is not blamed', async () => {
  await using server = await faultServer(bytes(304, ''))
  const error = await rejection(aSource(server).source.readPage(FIRST, PATIENT))
  expect(error).toMatchObject({ name: 'ContractBroken', code: 'bad-answer' })
  expect(String(error)).toMatch(/answered 304.*cache or proxy/)
  expect(String(error)).not.toMatch(/redirect|baseUrl/)
  expect(server.requests).toHaveLength(1)
})

test('an abort ends every request under way, in the middle of its body too', async () => {
  const controller = new AbortController()
  const stall = cutShortOfEnd()
  await using server = await faultServer(hang(), stall, (response, request) => {
    void stall(response, request)
    setImmediate(() => controller.abort(new Error('enough')))
  })
  const { source } = aSource(server)
  const { signal } = controller
  const pages = [1, 2, 3].map((page) => rejection(source.readPage({ page, size: 100 }, { signal })))
  for (const error of await Promise.all(pages)) expect(error).toMatchObject({ message: 'enough' })
})

test('nothing listens to the signal any more when a request has ended, well or not', async () => {
  await using server = await faultServer(list(3), slam(), list(3))
  const { source } = aSource(server)
  const { signal } = new AbortController()
  await source.readPage(FIRST, { signal })
  await source.readPage(FIRST, { signal })
  expect(server.requests).toHaveLength(3)
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('a key that no header can carry is reported, without showing it', async () => {
  await using server = await faultServer(json(200, {}))
  const { source } = aSource(server, {}, { credentials: { apiKey: 'bad\nkey', secret: 'x' } })
  const error = await rejection(source.readPage(FIRST, PATIENT))
  expect(error).toMatchObject({ name: 'UsageError' })
  expect(String(error)).toMatch(/API key/)
  expect(String(error)).not.toContain('bad\nkey')
})

test('plain http to another machine is refused when the source is opened', () => {
  expect(() => aSource({ baseUrl: new URL('http://acme.example.com/api/v1') })).toThrow(/must be https/)
})

test.each([
  ['gzip', gzipSync(BODY)],
  ['deflate', deflateSync(BODY)],
  ['deflate', deflateRawSync(BODY)],
  ['br', brotliCompressSync(BODY)],
  ['UTF-8', Buffer.from(BODY)],
])('an answer whose Content-Encoding is %s is read, and its bytes are counted decoded', async (encoding, body) => {
  await using server = await faultServer(bytes(200, body, { 'Content-Encoding': encoding }))
  const page = await aSource(server).source.readPage(FIRST, PATIENT)
  expect(page.records()).toHaveLength(3)
  expect(page.bytes).toBe(BODY.length)
})

test.each([
  ['an encoding never asked for', BODY, { 'Content-Encoding': 'zstd' }, 'bad-answer'],
  ['two encodings at once', gzipSync(gzipSync(BODY)), { 'Content-Encoding': 'gzip, gzip' }, 'bad-answer'],
  ['gzip that ends early', gzipSync(BODY).subarray(0, 60), { 'Content-Encoding': 'gzip' }, 'bad-answer'],
])('a 200 with %s breaks the contract and is not asked for again', async (_, body, headers, code) => {
  await using server = await faultServer(bytes(200, body, headers))
  const error = await rejection(aSource(server).source.readPage(FIRST, PATIENT))
  expect(error).toMatchObject({ name: 'ContractBroken', code })
  expect(String(error)).not.toMatch(/Customer|@|Notice|maintenance/)
  expect(server.requests).toHaveLength(1)
})

/** Exactly this on the wire, and then the end of the connection. */
function raw(text: string): Reply {
  return (response) => void response.socket?.end(text)
}

const OK = 'HTTP/1.1 200 OK\r\n'
const PROXY = /Check the address and the port in baseUrl, and any proxy in between\./

test.each([
  [
    'another protocol',
    raw('SSH-2.0-OpenSSH_9.6\r\n'),
    /not valid HTTP \((HPE_INVALID|Expected HTTP|Response does not).*\)/,
  ],
  [
    'a chunk that has no size',
    raw(`${OK}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n`),
    /not valid HTTP \(.*chunk.*\)/i,
  ],
  [
    'two Content-Lengths',
    raw(`${OK}Content-Length: 5\r\nContent-Length: 2\r\n\r\n{}`),
    /not valid HTTP \(UND_ERR_RES_CONTENT_LENGTH_MISMATCH\)/,
  ],
])('an answer with %s is asked for again, and the error says what is wrong with it', async (_, reply, said) => {
  await using server = await faultServer(reply)
  const error = await rejection(aSource(server, { attempts: 2 }).source.readPage(FIRST, PATIENT))

  expect(error).toMatchObject({ name: 'SourceUnavailable', code: 'network' })
  expect(String(error)).toMatch(said)
  expect(String(error)).toMatch(PROXY)
  expect(server.requests).toHaveLength(2)
})

test.each(['Content-Length: 9\r\n\r\n{', 'Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{'])(
  'a connection that ends after %j is not blamed on the answer',
  async (start) => {
    await using server = await faultServer(raw(OK + start))
    const error = await rejection(aSource(server, { attempts: 1 }).source.readPage(FIRST, PATIENT))

    expect(String(error)).toMatch(/the connection broke before the answer was complete/)
    expect(factsOf(error)).toMatchObject({ title: 'unreachable' })
  },
)

test.each(['103 Early Hints'])('an answer may begin with %s', async (status) => {
  await using server = await faultServer(async (response, request) => {
    response.socket?.write(`HTTP/1.1 ${status}\r\n\r\n`)
    await list(3)(response, request)
  })

  expect((await aSource(server).source.readPage(FIRST, PATIENT)).records()).toHaveLength(3)
})

test('a machine that lets the program open no more connections is named as the reason', () => {
  const refused = Object.assign(new Error('connect EMFILE 127.0.0.1:443'), { code: 'EMFILE' })
  const error = unreachable(new TypeError('fetch failed', { cause: refused }), {
    place: 'GET x',
    timeoutMs: 1000,
  })
  expect(error).toMatchObject({ code: 'network', message: expect.stringMatching(/^GET x: this machine .*ulimit -n/) })
})

test('a run goes on with the connections of the one before', async () => {
  await using server = await faultServer(list(250))
  for (let run = 0; run < 2; run += 1) {
    const { source } = aSource(server)
    for (const page of [1, 2]) await source.readPage({ page, size: 100 }, PATIENT)
    source.close()
  }
  expect(new Set(server.requests.map(({ socket }) => socket)).size).toBe(1)
})

/** A new key and a self-signed certificate for 127.0.0.1, which no client trusts. */
export function selfSigned(): { key: string; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const ecdsaWithSha256 = der(0x30, oid('2a8648ce3d040302'))
  const name = der(0x30, der(0x31, der(0x30, oid('550403'), der(0x0c, Buffer.from('127.0.0.1')))))
  const validity = der(0x30, der(0x17, Buffer.from('240101000000Z')), der(0x17, Buffer.from('490101000000Z')))
  const addressOf = der(0x30, der(0x87, Buffer.from([127, 0, 0, 1])))
  const extensions = der(0xa3, der(0x30, der(0x30, oid('551d11'), der(0x04, addressOf))))
  const body = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    extensions,
  )
  const signed = der(0x03, Buffer.from([0]), sign('sha256', body, privateKey))
  const certificate = der(0x30, body, ecdsaWithSha256, signed).toString('base64').replace(/.{64}/g, '$&\n')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate}\n-----END CERTIFICATE-----\n`,
  }
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'))
}

/** One value in DER: its tag, its length, its content. */
function der(tag: number, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content)
  const size = body.byteLength
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}
