import { createRequire } from 'node:module'
import { screenOf } from '../io.ts'
import { plainJson, plainLines } from '../../text/plain-text.ts'
import { grouped } from '../../text/wording.ts'

export { clockWords, count, duration, grouped, moment, second } from '../../text/wording.ts'

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
  if (LATIN.test(text)) return text.length
  const { default: stringWidth }: typeof import('string-width') = load('string-width')
  return stringWidth(text)
}

/** Loads a package once a text needs it: what these two prepare takes longer than a whole command that prints plain letters. */
const load = createRequire(import.meta.url)

/** Nearly every text, and told apart from others a hundred times faster than its columns are counted. */
const LATIN = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u024f]*$/

/** The text in lines of at most `width` columns, broken between words. Longer words are broken too, unless they are to be copied whole. */
export function wrapText(text: string, width: number, { hard = true } = {}): string[] {
  if (columnsOf(text) <= width) return [text]
  const { default: wrapAnsi }: typeof import('wrap-ansi') = load('wrap-ansi')
  return wrapAnsi(text, Math.max(1, width), { hard }).split('\n')
}

/** The lines of the text, each in lines of at most `width` columns; an indented one goes on a little further in. Commands and words stay whole. */
export function wrapLines(text: string, width: number): string {
  const fitted = text.split('\n').flatMap((line) => {
    if (columnsOf(line) <= width || COMMAND.test(line)) return [line]
    const [indent = ''] = /^ */.exec(line) ?? []
    const further = indent === '' ? '' : `${indent}  `
    const parts = wrapText(line.trimStart(), width - further.length, { hard: false })
    return parts.map((part, index) => (index === 0 ? indent : further) + part)
  })
  return fitted.join('\n')
}

/** To be copied. */
const COMMAND = /^ *(?:\$ |fix: |\d\. |\S.* {2,})?(?:customer-mirror|chmod|sudo|DELETE FROM|UPDATE|mirror:) /

/** What an entry is about, then its text, which goes on below itself. */
export function hanging(start: string, text: string, width: number): string {
  return start + wrapText(text, Math.max(20, width - start.length)).join(`\n${' '.repeat(start.length)}`)
}

/** The numbers that are not 0, each with what it counts: `12 new`. */
export function countsOf(numbers: readonly (readonly [number: number, what: string])[]): string[] {
  return numbers.filter(([number]) => number > 0).map(([number, what]) => `${grouped(number)} ${what}`)
}

/** The text quoted as one shell word, for commands that users copy. */
export function shellWord(text: string): string {
  return /^[\w/.@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** The `--config` option for a command shown to the user; empty if the user named no file. */
export function configOption(config: string | undefined): string {
  return config === undefined ? '' : ` --config ${shellWord(config)}`
}

/** A text in a statement that users copy. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** Commands to be copied, each behind what it is for. */
export function commands(rows: readonly (readonly [what: string, command: string])[], option: string): string {
  return rows.map(([what, command]) => `  ${what.padEnd(20)} customer-mirror ${command}${option}\n`).join('')
}
