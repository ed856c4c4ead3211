import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib'
import { ContractBroken } from '../errors/errors.ts'
import { codeOf } from '../errors/faults.ts'

/** The most bytes of a body, on the wire and decompressed. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024

/** The decoded bytes of a body. More than 16 MiB is an error. */
export async function wholeOf(bytes: Buffer, encoding: string | undefined, place: string): Promise<Buffer> {
  try {
    return await decompressed(bytes, encoding, MAX_BODY_BYTES)
  } catch (error) {
    if (codeOf(error) === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(place)
    const name = `"${(encoding ?? '').replace(/[^\w, -]/g, '').slice(0, 40)}"`
    const message = `${place}: the content encoding ${name} cannot be decompressed. Look for a broken proxy in between.`
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

/** The beginning of an error's body, for its message; empty when it cannot be read. Never throws. */
export async function beginningOf(bytes: Buffer, encoding: string | undefined): Promise<string> {
  try {
    return new TextDecoder().decode(await decompressed(bytes, encoding, MAX_BODY_BYTES)).slice(0, ERROR_CHARACTERS)
  } catch {
    // The status already says what to do; the message would only add detail.
    return ''
  }
}

/** How much of an error's body is kept. */
const ERROR_CHARACTERS = 2048

async function decompressed(bytes: Buffer, encoding: string | undefined, maxBytes: number): Promise<Buffer> {
  const name = (encoding ?? '').toLowerCase()
  if (NO_ENCODINGS.has(name)) return bytes
  const decompress = DECOMPRESS.get(name)
  if (decompress === undefined) throw new Error('unknown content encoding')
  // A proxy may declare an encoding for an empty body.
  return bytes.byteLength === 0 ? bytes : await decompress(bytes, { maxOutputLength: maxBytes })
}

/** Some services write the name of their character set where an encoding belongs. */
const NO_ENCODINGS: ReadonlySet<string> = new Set(['', 'identity', 'none', 'utf-8', 'utf8'])

type Decompress = (bytes: Buffer, limit: { maxOutputLength: number }) => Promise<Buffer>

const inflateZlib: Decompress = promisify(inflate)
const inflateBare: Decompress = promisify(inflateRaw)

const DECOMPRESS: ReadonlyMap<string, Decompress> = new Map<string, Decompress>([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['br', promisify(brotliDecompress)],
  // "deflate" means the zlib format, and some servers send the bare one. The low bits of the first byte show which it is.
  [
    'deflate',
    (bytes, limit) => (((bytes[0] ?? 0) & 0x0f) === 8 ? inflateZlib(bytes, limit) : inflateBare(bytes, limit)),
  ],
])

export function tooLarge(place: string): ContractBroken {
  const message = `${place}: the answer is larger than ${MAX_BODY_BYTES} bytes. Lower pageSize, or check what answers there.`
  return new ContractBroken(message, { code: 'too-large' })
}
