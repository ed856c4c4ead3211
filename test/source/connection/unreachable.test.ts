import { expect, test } from 'vitest'
import { explainFailure } from '../../../src/cli/output/explain-failure.ts'
import { unreachable } from '../../../src/source/connection/unreachable.ts'
import { bytes, faultServer, list, type Reply } from '../../support/fault-server.ts'
import { aSource, PATIENT, rejection } from '../a-source.ts'

const FIRST = { page: 1, size: 100 }

/** Exactly this on the wire, and then the end of the connection. */
function raw(text: string): Reply {
  return (response) => void response.socket?.end(text)
}

const OK = 'HTTP/1.1 200 OK\r\n'
const PROXY = /Check the address and the port in baseUrl, and any proxy in between\./

test.each([
  ['another protocol', raw('SSH-2.0-OpenSSH_9.6\r\n'), /not valid HTTP \((HPE_INVALID|Expected HTTP).*\)/],
  ['a page without a head', raw('{"success":true}'), /not valid HTTP \((HPE_INVALID|Expected HTTP).*\)/],
  ['status 000', raw('HTTP/1.1 000 x\r\nContent-Length: 0\r\n\r\n'), /not valid HTTP \(ERR_ASSERTION\)/],
  [
    'a chunk that has no size',
    raw(`${OK}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n`),
    /not valid HTTP \(.*chunk.*\)/i,
  ],
  [
    'two Content-Lengths',
    raw(`${OK}Content-Length: 5\r\nContent-Length: 2\r\n\r\n{}`),
    /does not fit its Content-Length/,
  ],
  [
    '100 KB of headers',
    bytes(200, '{}', { 'X-Long': 'a'.repeat(100_000) }),
    /headers .* larger than Node reads, 16 KiB/,
  ],
  ['100 Continue', raw(`HTTP/1.1 100 Continue\r\n\r\n${OK}\r\n{}`), /began with 100 Continue, which was not asked/],
  [
    'another protocol from here on',
    raw('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'),
    /began with 101 Switching Protocols, which was not asked/,
  ],
])('an answer with %s is asked for again, and the error says what is wrong with it', async (_, reply, said) => {
  await using server = await faultServer(reply)
  const error = await rejection(aSource(server, { attempts: 2 }).source.readPage(FIRST, PATIENT))

  expect(error).toMatchObject({ name: 'SourceUnavailable', code: 'network' })
  expect(String(error)).toMatch(said)
  expect(String(error)).toMatch(PROXY)
  expect(explainFailure(error)).toMatchObject({ title: 'unreadable answer', fix: expect.stringMatching(PROXY) })
  expect(server.requests).toHaveLength(2)
})

test.each([
  'Content-Length: 9\r\n\r\n{',
  'Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{',
  'Content-Le',
  'Connection: close\r\n\r\n{"success":true,"data":[{"id":"',
])('a connection that ends after %j is not blamed on the answer', async (start) => {
  await using server = await faultServer(raw(OK + start))
  const error = await rejection(aSource(server, { attempts: 1 }).source.readPage(FIRST, PATIENT))

  expect(String(error)).toMatch(/the connection broke before the answer was complete/)
  expect(explainFailure(error)).toMatchObject({ title: 'unreachable' })
})

test.each(['102 Processing', '103 Early Hints'])('an answer may begin with %s', async (status) => {
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
    timedOutAfterMs: undefined,
  })
  expect(error).toMatchObject({ code: 'network', message: expect.stringMatching(/^GET x: this machine .*ulimit -n/) })
})
