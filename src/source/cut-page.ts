import { hash } from 'node:crypto'

/** The body of a page taken apart, so that records that came before need not be read again. */
export type CutPage = {
  /** SHA-256 of the bytes between the brackets of `data`. */
  digest: string
  /** The body as parsed, with an empty `data`. */
  envelope: object
}

/**
 * Cuts a body around the bytes of its `data`, without reading those. Undefined where that cannot be done with certainty, or
 * where there are none.
 *
 * The cut is right when the body parses with nothing but a mark in their place, and `data` then holds just that mark. Bytes
 * that were once the elements of an array and are the same bytes are the same elements, whatever stands around them.
 */
export function cutPage(body: Buffer): CutPage | undefined {
  const from = afterOpening(body)
  if (from === undefined) return undefined
  for (const to of closings(body, from)) {
    const digest = hash('sha256', body.subarray(from, to), 'base64url')
    const envelope = parsed(body.subarray(0, from), digest, body.subarray(to))
    if (!isMarked(envelope, digest)) continue
    return { digest, envelope: { ...envelope, data: [] } }
  }
  return undefined
}

const DATA = Buffer.from('"data"')

/** Where the first element of `data` begins. */
function afterOpening(body: Buffer): number | undefined {
  const name = body.indexOf(DATA)
  const between = body.toString('latin1', name, name + MOST_BEFORE)
  const opening = OPENING.exec(between)
  return name < 0 || opening === null ? undefined : name + opening[0].length
}

const MOST_BEFORE = 64
const OPENING = /^"data"\s*:\s*\[/

/** What follows the records of a page is short; a cut that needs a longer look is not worth it. */
const MOST_AFTER = 4096
/** The end of `data` stands before another of the documented names, or at the end of all. */
const CLOSING = /\](?=\s*(?:,\s*"(?:meta|links|success)"|\}\s*$))/g
const MOST_TRIES = 4

/** Where the last element of `data` may end; nowhere, where there is none. */
function closings(body: Buffer, from: number): number[] {
  const start = Math.max(from, body.length - MOST_AFTER)
  const found = body.toString('latin1', start).matchAll(CLOSING)
  return Array.from(found.take(MOST_TRIES), ({ index }) => start + index).filter(
    (to) => !body.subarray(from, to).every(isBlank),
  )
}

/** Of the bytes JSON allows between values; nothing below a space begins one. */
function isBlank(byte: number): boolean {
  return byte <= 0x20
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function parsed(before: Uint8Array, mark: string, after: Uint8Array): unknown {
  try {
    const value: unknown = JSON.parse(`${decoder.decode(before)}"${mark}"${decoder.decode(after)}`)
    return value
  } catch {
    return undefined
  }
}

function isMarked(envelope: unknown, mark: string): envelope is { data: [string] } {
  if (typeof envelope !== 'object' || envelope === null || !('data' in envelope)) return false
  const { data } = envelope
  return Array.isArray(data) && data.length === 1 && data[0] === mark
}
