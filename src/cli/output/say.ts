import stringWidth from 'string-width'
import wrapAnsi from 'wrap-ansi'
import { plainJson, plainLines } from '../../text/plain-text.ts'
import { screenOf } from '../io.ts'

/** Writes what is said to people. On a terminal its lines are broken between words; files and pipes get them as they are. */
export function say(stream: NodeJS.WritableStream, text: string): void {
  print(stream, wrapLines(text, screenOf(stream)?.columns ?? Infinity))
}

/** Writes results in lines of their own. No text in them acts on a terminal. */
export function print(stream: NodeJS.WritableStream, text: string): void {
  stream.write(plainLines(text))
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

/** Columns of a text on a terminal: East Asian letters and emoji take two, combining marks none. */
export function columnsOf(text: string): number {
  return LATIN.test(text) ? text.length : stringWidth(text)
}

/** Nearly every text, and told apart from others a hundred times faster than its columns are counted. */
const LATIN = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u024f]*$/

/** The text in lines of at most `width` columns, broken between words. Longer words are broken too, unless they are to be copied whole. */
export function wrapText(text: string, width: number, { hard = true } = {}): string[] {
  return columnsOf(text) <= width ? [text] : wrapAnsi(text, Math.max(1, width), { hard }).split('\n')
}

/** The lines of the text, each in lines of at most `width` columns; those that go on with one are indented a little more. Commands and words stay whole. */
export function wrapLines(text: string, width: number): string {
  const fitted = text.split('\n').flatMap((line) => {
    if (columnsOf(line) <= width || COMMAND.test(line)) return [line]
    const indent = ' '.repeat(line.length - line.trimStart().length)
    const [first = '', ...more] = wrapText(line.trimStart(), width - indent.length - 2, { hard: false })
    return [indent + first, ...more.map((part) => `${indent}  ${part}`)]
  })
  return fitted.join('\n')
}

/** To be copied. */
const COMMAND = /^ *(?:\$ |fix: |\d\. |\S.* {2,})?(?:customer-mirror|chmod|sudo|DELETE FROM|UPDATE|mirror:) /

/** What an entry is about, then its text, which goes on below itself; where that leaves no room for words, it stands below the start. */
export function hanging(start: string, text: string, width: number): string {
  const room = width - columnsOf(start)
  const isBelow = room < LEAST_ROOM && columnsOf(text) > room
  const indent = isBelow ? '    ' : ' '.repeat(columnsOf(start))
  const lines = wrapText(text, isBelow ? width - indent.length : room)
  return isBelow ? [start.trimEnd(), ...lines].join(`\n${indent}`) : start + lines.join(`\n${indent}`)
}

const LEAST_ROOM = 20

/** The text in `width` columns at the least, with spaces behind it, or before it where it stands on the right. */
export function padded(text: string, width: number, isRight = false): string {
  const space = ' '.repeat(Math.max(0, width - columnsOf(text)))
  return isRight ? space + text : text + space
}
