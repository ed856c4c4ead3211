import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { expect, onTestFinished, test, vi } from 'vitest'
import { DEFAULT_PRESET, recipeOf, signature, stringToSign } from '../../src/signing/signing.ts'
import { bytes, cut, envelopeOf, faultServer, hang, list, type Reply, tlsFaultServer } from '../support/fault-server.ts'
import { temporaryFolder } from '../support/mirror-file.ts'
import { aSource, CREDENTIALS, FIRST, PATIENT, readFrom, rejection } from './a-source.ts'

const BODY = JSON.stringify(envelopeOf(3, FIRST))

test('a page is asked for with the canonical query and every header, and the signature is for what was sent', async () => {
  const { server, now } = await readFrom(list(250), { window: { page: 2, size: 100 } })
  const [request] = server.requests
  expect(request?.method).toBe('GET')
  expect(`${request?.url.pathname}${request?.url.search}`).toBe('/api/v1/customers?page=2&per_page=100')
  expect(request?.headers).toMatchObject({
    accept: 'application/json',
    'content-type': 'application/json',
    'accept-encoding': 'gzip, br',
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

/** A body that stops, while its connection stays open. */
const stall: Reply = (response) => {
  response.writeHead(200, { 'Content-Length': BODY.length })
  response.write(BODY.slice(0, 50))
}

test('a body that stops ends with the request timeout', async () => {
  const { error } = await readFrom(stall, { settings: { requestTimeoutMs: 250, maxWaitMs: 0 } })
  expect(error).toMatchObject({ name: 'SourceUnavailable', code: 'network' })
})

const cutChunked: Reply = (response) => {
  response.writeHead(200)
  response.write(BODY.slice(0, 50), () => response.destroy())
}

test.each([
  ['in the middle of a compressed body', cut(gzipSync(BODY), 0.5, { 'Content-Encoding': 'gzip' })],
  ['in a body without a length', cutChunked],
  ['without a word', (response) => void response.destroy()],
])('a connection cut %s is asked about again, and the page is read', async (_, reply) => {
  const { page, server } = await readFrom([reply, list(3)])
  expect(page?.records()).toHaveLength(3)
  expect(server.requests).toHaveLength(2)
})

const ELSEWHERE = 'another host'

test.each([
  [301, ELSEWHERE],
  [302, '/login'],
  [303, undefined],
  [307, 'javascript:alert(1)'],
  [308, ELSEWHERE],
])('a redirect with %d to %s is not followed', async (status, location) => {
  const other = await faultServer(list(3))
  const target = location === ELSEWHERE ? `${other.origin}/api/v1/customers` : location
  const { error, server } = await readFrom(bytes(status, '', target === undefined ? {} : { Location: target }))
  expect(error).toMatchObject({ name: 'ContractBroken', code: 'bad-answer' })
  expect([server.requests.length, other.requests.length]).toEqual([1, 0])
})

test('an untrusted certificate is refused before any request, whatever the environment says', async () => {
  const server = await tlsFaultServer(selfSigned(), list(3))
  onTestFinished(() => void vi.unstubAllEnvs())
  for (const value of ['1', '0']) {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', value)
    const error = await rejection(aSource(server).source.readPage(FIRST, PATIENT))
    expect(error).toMatchObject({ name: 'SourceUnavailable', code: 'tls' })
    expect(String(error)).toMatch(/DEPTH_ZERO_SELF_SIGNED_CERT.*NODE_EXTRA_CA_CERTS/)
  }
  expect(server.requests).toHaveLength(0)
})

test('https to a port that speaks plain http is a TLS failure and is not tried again', async () => {
  const server = await faultServer(list(3))
  const { source } = aSource({ baseUrl: new URL(server.baseUrl.href.replace('http:', 'https:')) })
  const error = await rejection(source.readPage(FIRST, PATIENT))
  expect(error).toMatchObject({ name: 'SourceUnavailable', code: 'tls' })
  expect(String(error)).toMatch(/this port answers without TLS.*Check the port in baseUrl/)
  expect(source.counters.requests).toBe(1)
})

test('an abort ends every request under way, in the middle of its body too', async () => {
  const controller = new AbortController()
  const server = await faultServer(hang(), stall, (response, request) => {
    void stall(response, request)
    setImmediate(() => controller.abort(new Error('enough')))
  })
  const { source } = aSource(server)
  const { signal } = controller
  const pages = [1, 2, 3].map((page) => rejection(source.readPage({ page, size: 100 }, { signal })))
  for (const error of await Promise.all(pages)) expect(error).toMatchObject({ message: 'enough' })
})

test.each([
  ['gzip', gzipSync(BODY)],
  ['br', brotliCompressSync(BODY)],
  ['UTF-8', Buffer.from(BODY)],
  ['identity', Buffer.from(`\uFEFF${BODY}`)],
])('an answer whose Content-Encoding is %s is read', async (encoding, body) => {
  const { page } = await readFrom(bytes(200, body, { 'Content-Encoding': encoding }))
  expect(page?.records()).toHaveLength(3)
  expect(page?.bytes).toBeGreaterThanOrEqual(BODY.length)
})

test.each([
  ['never asked for', BODY, 'zstd'],
  ['twice', gzipSync(gzipSync(BODY)), 'gzip, gzip'],
  ['that ends early', gzipSync(BODY).subarray(0, 60), 'gzip'],
])('a 200 in an encoding %s breaks the contract and is not asked for again', async (_, body, encoding) => {
  const { error, server } = await readFrom(bytes(200, body, { 'Content-Encoding': encoding }))
  expect(error).toMatchObject({ name: 'ContractBroken', code: 'bad-answer' })
  expect(server.requests).toHaveLength(1)
})

const OK = 'HTTP/1.1 200 OK\r\n'

test.each([
  ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n', /not valid HTTP \((HPE_INVALID|Expected HTTP|Response does not)/],
  ['a status of no kind', 'HTTP/1.1 000 Odd\r\n\r\n', /not valid HTTP \(ERR_ASSERTION\)/],
  ['a status that nobody asked for', 'HTTP/1.1 100 Continue\r\n\r\n', /not valid HTTP \(bad response\)/],
  ['a chunk that has no size', `${OK}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n`, /not valid HTTP \(.*chunk/i],
  ['two Content-Lengths', `${OK}Content-Length: 5\r\nContent-Length: 2\r\n\r\n{}`, /\(UND_ERR_RES_CONTENT_LENGTH_M/],
])('an answer with %s is asked for again, and the error says what is wrong with it', async (_, sent, said) => {
  const { error, server } = await readFrom((response) => void response.socket?.end(sent))
  expect(error).toMatchObject({ name: 'SourceUnavailable', code: 'network', message: expect.stringMatching(said) })
  expect(String(error)).toMatch(/Check the address and the port in baseUrl, and any proxy in between\./)
  expect(server.requests).toHaveLength(5)
})

test('a run goes on with the connections of the one before', async () => {
  const server = await faultServer(list(250))
  for (let run = 0; run < 2; run += 1) {
    const { source } = aSource(server)
    for (const page of [1, 2]) await source.readPage({ page, size: 100 }, PATIENT)
    source.close()
  }
  expect(new Set(server.requests.map(({ socket }) => socket)).size).toBe(1)
})

/** A new key and a certificate for 127.0.0.1, which no client trusts. */
function selfSigned(): { key: string; cert: string } {
  const [key, cert] = ['key', 'cert'].map((name) => join(temporaryFolder(), name))
  const made = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=127.0.0.1'.split(' ')
  const files = ['-keyout', key ?? '', '-out', cert ?? '', '-addext', 'subjectAltName=IP:127.0.0.1']
  execFileSync('openssl', [...made, ...files], { stdio: 'ignore' })
  return { key: readFileSync(key ?? '', 'utf8'), cert: readFileSync(cert ?? '', 'utf8') }
}
