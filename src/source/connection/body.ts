import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib'
import { ContractBroken } from '../../errors/errors.ts'
import { codeOf } from '../../errors/faults.ts'

type WholeOptions = { encoding: string | undefined; maxBodyBytes: number; place: string }

/** A body as received; `isWhole` is false when it was cut short. */
type Received = { bytes: Buffer; isWhole: boolean }

/** The decoded bytes of a body. More than `maxBodyBytes`, on the wire or decoded, is an error. */
export async function wholeOf(received: Received, { encoding, maxBodyBytes, place }: WholeOptions): Promise<Buffer> {
  const { bytes, isWhole } = received
  if (!isWhole) throw tooLarge(place, maxBodyBytes)
  try {
    return await decompressed(bytes, encoding, maxBodyBytes)
  } catch (error) {
    if (codeOf(error) === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(place, maxBodyBytes)
    const what = isKnown(nameOf(encoding)) ? 'cannot be decompressed' : 'was never asked for'
    const message = `${place}: the content encoding ${quotedToken(encoding)} ${what}. Look for a broken proxy in between.`
    throw new ContractBroken(message, { code: 'bad-answer' })
  }
}

/** The text of a body in UTF-8, without its byte order mark. Invalid bytes are an error: replacing one would change a customer. */
export function decodedText(bytes: Uint8Array, place: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new ContractBroken(`${place}: the answer is not valid UTF-8. Ask the service to correct the record in it.`, {
      code: 'not-utf8',
    })
  }
}

/** Whether a body begins as a JSON object, and ends in the middle of one. */
export function isCutOff(body: Buffer): boolean {
  const start = body.subarray(0, EDGE).toString('latin1').trimStart()
  const end = body.subarray(-EDGE).toString('latin1').trimEnd()
  return start.startsWith('{') && end !== '' && !end.endsWith('}')
}

/** How many bytes at either end are looked at. More blanks than that say nothing. */
const EDGE = 256

/** The beginning of an error's body, for its message; empty when it cannot be read. Never throws. */
export async function beginningOf({ bytes }: Received, encoding: string | undefined): Promise<string> {
  try {
    return new TextDecoder().decode(await decompressed(bytes, encoding, ERROR_BYTES))
  } catch {
    // The status already says what to do; the message would only add detail.
    return ''
  }
}

/** How many bytes of an error's body are read. */
export const ERROR_BYTES = 2048

async function decompressed(bytes: Buffer, encoding: string | undefined, maxBytes: number): Promise<Buffer> {
  const name = nameOf(encoding)
  if (NO_ENCODINGS.has(name)) return bytes
  if (!isKnown(name)) throw new Error('unknown content encoding')
  // A proxy may declare an encoding for an empty body.
  return bytes.byteLength === 0 ? bytes : DECOMPRESS[name](bytes, { maxOutputLength: maxBytes })
}

/** Some services write the name of their character set where an encoding belongs. */
const NO_ENCODINGS: ReadonlySet<string> = new Set(['', 'identity', 'none', 'utf-8', 'utf8'])

/** Servers may write it in any case. */
function nameOf(encoding: string | undefined): string {
  return (encoding ?? '').toLowerCase()
}

const inflateZlib = promisify(inflate)
const inflateBare = promisify(inflateRaw)

const DECOMPRESS = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  br: promisify(brotliDecompress),
  // "deflate" means the zlib format, and some servers send the bare one. The low bits of the first byte show which it is.
  deflate: (bytes: Buffer, limit: { maxOutputLength: number }): Promise<Buffer> =>
    ((bytes[0] ?? 0) & 0x0f) === 8 ? inflateZlib(bytes, limit) : inflateBare(bytes, limit),
}

function isKnown(encoding: string): encoding is keyof typeof DECOMPRESS {
  return Object.hasOwn(DECOMPRESS, encoding)
}

function quotedToken(encoding: string | undefined): string {
  return `"${(encoding ?? '').replace(/[^\w, -]/g, '').slice(0, 40)}"`
}

function tooLarge(place: string, maxBytes: number): ContractBroken {
  const message = `${place}: the answer is larger than ${maxBytes} bytes. Lower pageSize, or check what answers there.`
  return new ContractBroken(message, { code: 'too-large' })
}
