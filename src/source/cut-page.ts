import { isAscii, isUtf8 } from 'node:buffer'
import { isMapping, parsedJson } from '../text/parsed-json.ts'

/**
 * Cuts a body around the bytes of its `data` without parsing them, so that records received before need not be parsed again. Returns those
 * bytes, and the rest as parsed, with an empty `data`; undefined when the cut is not certain, or when there are no records.
 *
 * The cut is right when the body parses with a mark in their place, and `data` then holds just that mark. The same bytes between
 * the brackets of an array are the same elements, whatever is around them.
 */
export function cutPage(body: Buffer): { records: Buffer; envelope: object } | undefined {
  const from = afterOpening(body)
  if (from === undefined) return undefined
  for (const to of closings(body, from)) {
    const before = decoded(body.subarray(0, from)).replace(/^\uFEFF/, '')
    const envelope = parsedJson(`${before}"${MARK}"${decoded(body.subarray(to))}`)
    if (isMarked(envelope)) return { records: body.subarray(from, to), envelope: { ...envelope, data: [] } }
  }
  return undefined
}

/** Stands in the place of the records. A service that sends it itself, in a second `data`, sends no records there. */
const MARK = 'records were here'

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

/** The positions where the last element of `data` may end; none when `data` is empty. */
function closings(body: Buffer, from: number): number[] {
  const start = Math.max(from, body.length - MOST_AFTER)
  const found = body.toString('latin1', start).matchAll(CLOSING).take(MOST_TRIES)
  // No value begins with a space or a byte below it.
  return [...found.map(({ index }) => start + index)].filter((to) =>
    body.subarray(from, to).some((byte) => byte > 0x20),
  )
}

function isMarked(envelope: unknown): envelope is { data: [string] } {
  const data = isMapping(envelope) ? envelope['data'] : undefined
  return Array.isArray(data) && data.length === 1 && data[0] === MARK
}

/** The records of a page, as positions in its bytes. */
export type CutRecords = NonNullable<ReturnType<typeof cutRecords>>

/**
 * Cuts the elements of an array of objects apart at every text like `},{`, even within a record, given the bytes between its brackets;
 * undefined where they are more than `most`. A cut in the wrong place can do no harm to a caller who takes a record as known only when
 * the very same bytes were parsed before, and parses the others: JSON values with a comma between each and the next are an array of
 * just these values.
 */
export function cutRecords(data: Buffer, most: number) {
  const text = data.toString('latin1')
  const borders = bordersIn(text, most)
  if (borders === undefined) return undefined
  const { starts, ends } = borders
  const ids = starts.map((start, place) => idWithin(text, start, ends[place] ?? start))
  const textBetween = textsOf(data, text)
  /** Parses one record; undefined if the bytes were cut in the wrong place. */
  const record = (place: number) => parsedJson(textBetween(starts[place] ?? 0, ends[place] ?? 0))
  return {
    bytes: new DataView(data.buffer, data.byteOffset, data.length),
    /** Record `n` is at `[starts[n], ends[n])`. */
    ...{ starts, ends },
    /** The start of each record's `"id"` text, which is as long as a UUID; -1 if there is none. */
    ids,
    /** Whether that text is this id, in upper or lower case. */
    hasId(place: number, id: string) {
      const at = ids[place] ?? -1
      return at >= 0 && (text.startsWith(id, at) || text.slice(at, at + ID_LENGTH).toLowerCase() === id)
    },
    record,
    /** Parses all but the known ones, which are null here; undefined if the bytes of one were cut in the wrong place. */
    records(isKnown: (place: number) => boolean) {
      const values = starts.map((_, place) => (isKnown(place) ? null : record(place)))
      return values.includes(undefined) ? undefined : values
    },
  }
}

/** Decodes parts of a page: in ASCII each byte is a character already, and what is valid as a whole is valid in each part that is cut at ASCII. */
function textsOf(data: Buffer, latin1: string): (from: number, to: number) => string {
  if (isAscii(data)) return (from, to) => latin1.slice(from, to)
  if (isUtf8(data)) return (from, to) => data.toString('utf8', from, to)
  return (from, to) => decoded(data.subarray(from, to))
}

/** The text between two objects; a service writes it the same way everywhere. */
const BETWEEN = /\}[ \t\n\r]*,[ \t\n\r]*\{/

function bordersIn(text: string, most: number) {
  const [starts, ends]: [number[], number[]] = [[], []]
  // A record is added without the blanks around it, so that it has the same bytes anywhere on a page.
  const add = (from: number, to: number) => {
    let [start, end] = [from, to]
    while (start < end && isBlank(text, start)) start += 1
    while (start < end && isBlank(text, end - 1)) end -= 1
    starts.push(start)
    ends.push(end)
  }
  const [between = '},{'] = BETWEEN.exec(text) ?? []
  let start = 0
  for (let at = text.indexOf(between); at >= 0; at = text.indexOf(between, start)) {
    add(start, at + 1)
    if (starts.length === most) return undefined
    start = at + between.length - 1
  }
  add(start, text.length)
  return { starts, ends }
}

/** One of the four characters that JSON allows between values. A page with any other between its records is not JSON, and so not a page. */
function isBlank(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

const ID_LENGTH = 36
const ID_NAME = '"id"'
const BEFORE_TEXT = /\s*:\s*"/y

function idWithin(text: string, start: number, end: number): number {
  const name = text.indexOf(ID_NAME, start)
  if (name < 0 || name >= end) return -1
  BEFORE_TEXT.lastIndex = name + ID_NAME.length
  // As most services write it: the expression takes ten times as long.
  const isPlain = text.startsWith(':"', BEFORE_TEXT.lastIndex)
  if (!isPlain && !BEFORE_TEXT.test(text)) return -1
  const from = isPlain ? BEFORE_TEXT.lastIndex + 2 : BEFORE_TEXT.lastIndex
  return from + ID_LENGTH < end && text[from + ID_LENGTH] === '"' ? from : -1
}

/** Never guesses: a replaced byte would be a changed customer. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decoded(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    // Not JSON: the caller parses the whole page, and reports the mistake.
    return ''
  }
}
