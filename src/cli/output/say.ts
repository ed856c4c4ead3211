import { screenOf } from '../io.ts'
import { wrapLines } from './fit-text.ts'

/** Writes what is said to people. On a terminal its lines are broken between words; files and pipes get them as they are. */
export function say(stream: NodeJS.WritableStream, text: string): void {
  stream.write(wrapLines(text, screenOf(stream)?.columns ?? Number.POSITIVE_INFINITY))
}

/**
 * One JSON document, as every command with `--json` prints it: for people to read, unless it is to be on one line. No text in it acts on a
 * terminal.
 */
export function jsonDocument(content: Record<string, unknown>, { onOneLine = false } = {}): string {
  const json = JSON.stringify({ schemaVersion: 1, ...content }, null, onOneLine ? undefined : 2)
  // A line end within a text is written out already.
  return `${json.split('\n').map(plainJson).join('\n')}\n`
}

/**
 * What a terminal acts on instead of showing it: control characters, and what turns or hides the text around it. Customers
 * choose their own names.
 */
const ACTS = /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu

/** The text on one line, with everything that a terminal would act on written out: `\n`, `\u001b`. */
export function plainText(text: string): string {
  return PLAIN.test(text) ? text : text.replaceAll(ACTS, (character) => SHORT[character] ?? escaped(character))
}

/** As `plainText` for a text in JSON, which means the same afterwards. */
export function plainJson(json: string): string {
  return PLAIN.test(json) ? json : json.replaceAll(ACTS, escaped)
}

const PLAIN = /^[\x20-\x7e]*$/

const SHORT: Readonly<Record<string, string>> = { '\n': String.raw`\n`, '\r': String.raw`\r`, '\t': String.raw`\t` }

function escaped(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}
