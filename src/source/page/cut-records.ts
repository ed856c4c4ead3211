import { isAscii, isUtf8 } from 'node:buffer'

/** The records of a page, as positions in its bytes. */
export type CutRecords = {
  readonly bytes: DataView
  /** Record `n` is at `[starts[n], ends[n])`. */
  readonly starts: readonly number[]
  readonly ends: readonly number[]
  /** The start of each record's `"id"` text, which is as long as a UUID; -1 if there is none. */
  readonly ids: readonly number[]
  /** Whether that text is this id, in upper or lower case. */
  hasId(place: number, id: string): boolean
  /** Parses one record; undefined if the bytes were cut in the wrong place. */
  record(place: number): unknown
  /** Parses all of them. */
  records(): readonly unknown[] | undefined
}

/** `quickly` cuts at every text like `},{`, even within a string; `exactly` reads every character. */
export type Cutting = 'quickly' | 'exactly'

/**
 * Cuts the elements of an array of objects apart, given the bytes between its brackets; undefined where they are more than
 * `most`. A cut in the wrong place can do no harm to a caller who takes a record as known only when the very same bytes were
 * parsed before, and parses the others: JSON values with a comma between each and the next are an array of just these values.
 */
export function cutRecords(
  data: Buffer,
  { most, cutting }: { most: number; cutting: Cutting },
): CutRecords | undefined {
  const text = data.toString('latin1')
  const borders = bordersIn(text, cutting, most)
  if (borders === undefined) return undefined
  const { starts, ends } = borders
  const ids = starts.map((start, place) => idWithin(text, start, ends[place] ?? start))
  const textBetween = textsOf(data, text)
  const textAt = (place: number) => textBetween(starts[place] ?? 0, ends[place] ?? 0)
  return {
    ...{ bytes: new DataView(data.buffer, data.byteOffset, data.length), starts, ends, ids },
    hasId: (place, id) => hasText(text, ids[place] ?? -1, id),
    record: (place) => valueIn(textAt(place)),
    records() {
      const values: unknown[] = []
      for (let place = 0; place < starts.length; place += 1) {
        const value = valueIn(textAt(place))
        if (value === undefined) return undefined
        values.push(value)
      }
      return values
    },
  }
}

/**
 * Returns a function that decodes a part of a page, which is looked at as a whole first: what is in ASCII needs not be decoded, since each
 * byte is a character, and what is valid as a whole is valid in each part that is cut at ASCII.
 */
function textsOf(data: Buffer, latin1: string): (from: number, to: number) => string {
  if (isAscii(data)) return (from, to) => latin1.slice(from, to)
  if (isUtf8(data)) return (from, to) => data.toString('utf8', from, to)
  return (from, to) => decoded(data.subarray(from, to))
}

type Borders = { starts: number[]; ends: number[] }

function bordersIn(text: string, cutting: Cutting, most: number): Borders | undefined {
  return cutting === 'quickly' ? quickBordersIn(text, most) : exactBordersIn(text, most)
}

/** Adds a record without the blanks around it, so that the same record has the same bytes anywhere on a page. */
function addRecord({ starts, ends }: Borders, text: string, from: number, to: number): void {
  let [start, end] = [from, to]
  while (start < end && isBlank(text, start)) start += 1
  while (start < end && isBlank(text, end - 1)) end -= 1
  starts.push(start)
  ends.push(end)
}

/** One of the four characters that JSON allows between values. A page with any other between its records is not JSON, and so not a page. */
function isBlank(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/** The text between two objects; a service writes it the same way everywhere. */
const BETWEEN = /\}[ \t\n\r]*,[ \t\n\r]*\{/

function quickBordersIn(text: string, most: number): Borders | undefined {
  const borders: Borders = { starts: [], ends: [] }
  const between = BETWEEN.exec(text)?.[0]
  let start = 0
  if (between !== undefined) {
    const ahead = between.length - 1
    for (let at = text.indexOf(between); at >= 0; at = text.indexOf(between, at + ahead)) {
      addRecord(borders, text, start, at + 1)
      if (borders.starts.length === most) return undefined
      start = at + ahead
    }
  }
  addRecord(borders, text, start, text.length)
  return borders
}

function exactBordersIn(text: string, most: number): Borders | undefined {
  const borders: Borders = { starts: [], ends: [] }
  let [start, depth] = [0, 0]
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]
    if (character === '"') at = endOfText(text, at)
    else if (character === '{' || character === '[') depth += 1
    else if (character === '}' || character === ']') depth -= 1
    else if (character === ',' && depth === 0) {
      addRecord(borders, text, start, at)
      if (borders.starts.length === most) return undefined
      start = at + 1
    }
  }
  addRecord(borders, text, start, text.length)
  return borders
}

/** Where the text that begins at a quotation mark ends. */
function endOfText(text: string, from: number): number {
  let at = from + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}

const ID_LENGTH = 36
const ID_NAME = '"id"'
const BEFORE_TEXT = /\s*:\s*"/y

function idWithin(text: string, start: number, end: number): number {
  const name = text.indexOf(ID_NAME, start)
  if (name < 0 || name >= end) return -1
  BEFORE_TEXT.lastIndex = name + ID_NAME.length
  const from = text.startsWith(':"', BEFORE_TEXT.lastIndex)
    ? BEFORE_TEXT.lastIndex + 2
    : BEFORE_TEXT.test(text)
      ? BEFORE_TEXT.lastIndex
      : end
  return from + ID_LENGTH < end && text[from + ID_LENGTH] === '"' ? from : -1
}

function hasText(text: string, at: number, id: string): boolean {
  if (at < 0) return false
  return text.startsWith(id, at) || text.slice(at, at + ID_LENGTH).toLowerCase() === id
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

function valueIn(json: string): unknown {
  try {
    const value: unknown = JSON.parse(json)
    return value
  } catch {
    return undefined
  }
}
