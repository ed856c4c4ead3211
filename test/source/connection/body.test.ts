import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { isCutOff } from '../../../src/source/connection/body.ts'
import { bytes, envelopeOf, faultServer } from '../../support/fault-server.ts'
import { aSource, PATIENT, rejection } from '../a-source.ts'

const FIRST = { page: 1, size: 100 }
const BODY = JSON.stringify(envelopeOf(3, FIRST))

test.each([
  ['gzip', gzipSync(BODY)],
  ['x-gzip', gzipSync(BODY)],
  ['GZIP', gzipSync(BODY)],
  ['deflate', deflateSync(BODY)],
  ['deflate', deflateRawSync(BODY)],
  ['br', brotliCompressSync(BODY)],
  ['identity', Buffer.from(BODY)],
  ['UTF-8', Buffer.from(BODY)],
  ['none', Buffer.from(BODY)],
])('an answer whose Content-Encoding is %s is read, and its bytes are counted decoded', async (encoding, body) => {
  await using server = await faultServer(bytes(200, body, { 'Content-Encoding': encoding }))
  const page = await aSource(server).source.readPage(FIRST, PATIENT)
  expect(page.records()).toHaveLength(3)
  expect(page.bytes).toBe(BODY.length)
})

test('a byte order mark before the JSON is fine', async () => {
  await using server = await faultServer(bytes(200, `\uFEFF${BODY}`))
  expect((await aSource(server).source.readPage(FIRST, PATIENT)).records()).toHaveLength(3)
})

test.each([
  ['an empty body', '', {}, 'bad-answer'],
  ['HTML', '<!doctype html><p>maintenance</p>', {}, 'bad-answer'],
  ['a notice before the JSON', `<br /><b>Notice</b>: undefined index\n${BODY}`, {}, 'bad-answer'],
  ['JSON cut off though complete on the wire', BODY.slice(0, -40), {}, 'bad-answer'],
  ['letters in latin-1', Buffer.from(BODY.replace('Customer 1', 'Andr\u00e9'), 'latin1'), {}, 'not-utf8'],
  ['an encoding never asked for', BODY, { 'Content-Encoding': 'zstd' }, 'bad-answer'],
  ['two encodings at once', gzipSync(gzipSync(BODY)), { 'Content-Encoding': 'gzip, gzip' }, 'bad-answer'],
  ['gzip that is none', BODY, { 'Content-Encoding': 'gzip' }, 'bad-answer'],
  ['gzip that ends early', gzipSync(BODY).subarray(0, 60), { 'Content-Encoding': 'gzip' }, 'bad-answer'],
  ['brotli that is none', BODY, { 'Content-Encoding': 'br' }, 'bad-answer'],
])('a 200 with %s breaks the contract and is not asked for again', async (_, body, headers, code) => {
  await using server = await faultServer(bytes(200, body, headers))
  const error = await rejection(aSource(server).source.readPage(FIRST, PATIENT))
  expect(error).toMatchObject({ name: 'ContractBroken', code })
  expect(String(error)).not.toMatch(/Customer|@|Notice|maintenance/)
  expect(server.requests).toHaveLength(1)
})

test.each([
  ['GZIP', 'cannot be decompressed'],
  ['Zstd', 'was never asked for'],
])('the message about a broken %s answer says what is wrong with it', async (encoding, what) => {
  await using server = await faultServer(bytes(200, BODY, { 'Content-Encoding': encoding }))
  const error = await rejection(aSource(server).source.readPage(FIRST, PATIENT))
  expect(String(error)).toContain(`the content encoding "${encoding}" ${what}.`)
})

test.each([
  ['whole', BODY, false],
  ['with blanks around it', `\n\n${BODY}\n`, false],
  ['followed by more blanks than are looked at', BODY + ' '.repeat(300), false],
  ['HTML', '<!doctype html><p>', false],
  ['empty', '', false],
  ['one byte', '{', true],
  ['without its last braces', BODY.replace(/}+$/, ''), true],
  ['cut in the middle', BODY.slice(0, 200), true],
])('a body that is %s: whether it is cut off', (_, body, is) => {
  expect(isCutOff(Buffer.from(body))).toBe(is)
})

test('a body over the cap is given up', async () => {
  await using server = await faultServer(bytes(200, BODY))
  const { source } = aSource(server, { maxBodyBytes: BODY.length - 1 })
  expect(await rejection(source.readPage(FIRST, PATIENT))).toMatchObject({ name: 'ContractBroken', code: 'too-large' })
  const exact = aSource(server, { maxBodyBytes: BODY.length })
  expect((await exact.source.readPage(FIRST, PATIENT)).records()).toHaveLength(3)
})

test('a body without end is given up at the cap', async () => {
  await using server = await faultServer((response) => {
    response.writeHead(200)
    const pour = (): void => {
      while (!response.destroyed && response.write('x'.repeat(65_536))) void 0
    }
    response.on('drain', pour)
    pour()
  })
  const { source } = aSource(server, { maxBodyBytes: 1_000_000 })
  expect(await rejection(source.readPage(FIRST, PATIENT))).toMatchObject({ code: 'too-large' })
})

test.each([
  ['gzip', gzipSync(Buffer.alloc(20_000_000, ' '))],
  ['deflate', deflateSync(Buffer.alloc(20_000_000, ' '))],
  ['br', brotliCompressSync(Buffer.alloc(20_000_000, ' '), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
])('a small %s answer that unpacks to more than the cap is given up', async (encoding, bomb) => {
  await using server = await faultServer(bytes(200, bomb, { 'Content-Encoding': encoding }))
  expect(bomb.byteLength).toBeLessThan(100_000)
  expect(await rejection(aSource(server).source.readPage(FIRST, PATIENT))).toMatchObject({ code: 'too-large' })
})
