import { hash } from 'node:crypto'

/** The body of a page, split so that records received before need not be parsed again. */
export type CutPage = {
  /** SHA-256 of the bytes between the brackets of `data`. */
  digest: string
  /** The bytes between these brackets. */
  records: Buffer
  /** The body as parsed, with an empty `data`. */
  envelope: object
}

/**
 * Cuts a body around the bytes of its `data` without parsing them. Undefined when the cut is not certain, or when there are no
 * records.
 *
 * The cut is right when the body parses with a mark in their place, and `data` then holds just that mark. The same bytes between
 * the brackets of an array are the same elements, whatever is around them.
 */
export function cutPage(body: Buffer): CutPage | undefined {
  const from = afterOpening(body)
  if (from === undefined) return undefined
  for (const to of closings(body, from)) {
    const records = body.subarray(from, to)
    const digest = hash('sha256', records, 'base64url')
    const envelope = parsed(body.subarray(0, from), digest, body.subarray(to))
    if (!isMarked(envelope, digest)) continue
    return { digest, records, envelope: { ...envelope, data: [] } }
  }
  return undefined
}

const DATA = Buffer.from('"data"')

/** The start of the first element of `data`. */
function afterOpening(body: Buffer): number | undefined {
  const name = body.indexOf(DATA)
  const between = body.toString('latin1', name, name + MOST_BEFORE)
  const opening = OPENING.exec(between)
  return name < 0 || opening === null ? undefined : name + opening[0].length
}

const MOST_BEFORE = 64
const OPENING = /^"data"\s*:\s*\[/

/** Little follows the records of a page; a longer search would cost more than it saves. */
const MOST_AFTER = 4096
/** `data` ends before another of the documented names, or at the end of the body. */
const CLOSING = /\](?=\s*(?:,\s*"(?:meta|links|success)"|\}\s*$))/g
const MOST_TRIES = 4

/** The positions where the last element of `data` may end, the likeliest first; none when `data` is empty. */
function* closings(body: Buffer, from: number): Generator<number> {
  const last = body.lastIndexOf(']')
  const start = Math.max(from, body.length - MOST_AFTER)
  if (last >= start && isClosing(body.toString('latin1', last)) && !isBlankIn(body, from, last)) yield last
  const found = body.toString('latin1', start).matchAll(CLOSING)
  for (const { index } of found.take(MOST_TRIES)) if (!isBlankIn(body, from, start + index)) yield start + index
}

function isClosing(text: string): boolean {
  return text.search(CLOSING) === 0
}

function isBlankIn(body: Buffer, from: number, to: number): boolean {
  return body.subarray(from, to).every(isBlank)
}

/** Whether a byte can only be between values: no value begins with a space or a byte below it. */
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
