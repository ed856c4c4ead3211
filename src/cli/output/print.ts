import { createRequire } from 'node:module'
import { plainJson, plainLines, plainText } from '../../text/plain-text.ts'
import { count, grouped } from '../../text/wording.ts'

export { clockWords, count, duration, grouped, moment, second } from '../../text/wording.ts'

/** A terminal that a person may be looking at. Its size changes while the program runs, and its width may be 0: unknown. */
type Screen = NodeJS.WritableStream & { readonly columns: number; readonly rows?: number }

/** The stream as a terminal; undefined for files, pipes and terminals of unknown width. */
export function screenOf(stream: NodeJS.WritableStream): Screen | undefined {
  return isTerminal(stream) && stream.columns > 0 ? stream : undefined
}

export function isTerminal(stream: NodeJS.WritableStream): stream is Screen {
  return 'isTTY' in stream && stream.isTTY === true
}

/** Writes what is said to people. On a terminal its lines are broken between words; files and pipes get them as they are. */
export function say(stream: NodeJS.WritableStream, text: string): void {
  print(stream, wrapLines(text, screenOf(stream)?.columns ?? Infinity))
}

/** Writes results in lines of their own. No text in them acts on a terminal. */
export function print(stream: NodeJS.WritableStream, text: string): void {
  stream.write(plainLines(text))
}

/** One JSON document, as `--json` prints it: for people to read, or on one line. Undefined is null, and no text in it acts on a terminal. */
export function jsonDocument(content: Record<string, unknown>, { onOneLine = false } = {}): string {
  const orNull = (_key: string, value: unknown) => value ?? null
  const json = JSON.stringify({ schemaVersion: 1, ...content }, orNull, onOneLine ? undefined : 2)
  // A line end within a text is written out already.
  return `${json.split('\n').map(plainJson).join('\n')}\n`
}

/** Prints the document where `--json` asks for it, and otherwise the table and the text below it. */
export function show(
  { stdout }: { stdout: NodeJS.WritableStream },
  json: true | undefined,
  { document, table, text = '' }: { document: Record<string, unknown>; table?: Table; text?: string | undefined },
): void {
  if (json) return void stdout.write(jsonDocument(document))
  if (table !== undefined) printTable(stdout, table)
  say(stdout, text)
}

/** Columns of a text on a terminal: East Asian letters and emoji take two, combining marks none. */
export function columnsOf(text: string): number {
  if (LATIN.test(text)) return text.length
  const { default: stringWidth }: typeof import('string-width') = load('string-width')
  return stringWidth(text)
}

/** Loads a package once a text needs it: what these two prepare takes longer than a whole command that prints plain letters. */
const load = createRequire(import.meta.url)

/** Nearly every text, and the signs of this program: told apart from others a hundred times faster than its columns are counted. */
const LATIN = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u024f–…✖■]*$/

/** The text in lines of at most `width` columns, broken between words. Longer words are broken too, unless they are to be copied whole. */
function wrapText(text: string, width: number, { hard = true } = {}): string[] {
  if (columnsOf(text) <= width) return [text]
  // As many words as fit, or a longer word.
  const line = String.raw`\S(?:.{0,${Math.max(2, width) - 2}}\S)?(?= |$)|\S+`
  if (!hard && LATIN.test(text)) return text.match(new RegExp(line, 'g')) ?? []
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

const COMMAND = /^ *(?:\$ |fix: |\d\. |\S.* {2,})?(?:customer-mirror|chmod|sudo|DELETE FROM|UPDATE|mirror:) /

/** Each text that there is on lines of its own. */
export function linesOf(texts: readonly (string | false | undefined)[]): string {
  return texts.map((text) => (text === false || text === undefined ? '' : `${text}\n`)).join('')
}

/** The rows of tables, as far as they were counted: `3 customers, 1 run`. */
export function rowsWords(rows: { [table in (typeof TABLES)[number]]?: number }): string {
  const words = TABLES.map((table) => rows[table] !== undefined && count(rows[table], table.slice(0, -1)))
  return words.filter((each) => each !== false).join(', ')
}

const TABLES = ['customers', 'changes', 'runs', 'rejects'] as const

/** The numbers that are not 0, each with what it counts: `12 new`. */
export function countWords(numbers: Readonly<Record<string, number>>): string[] {
  return Object.entries(numbers).flatMap(([what, number]) => (number > 0 ? [`${grouped(number)} ${what}`] : []))
}

/** The text quoted as one shell word, for commands that users copy. */
export function shellWord(text: string): string {
  return /^[\w/.@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** The `--config` option for a command shown to the user; empty if the user named no file. */
export function configOption(config: string | undefined): string {
  return config === undefined ? '' : ` --config ${shellWord(config)}`
}

/** A text with `--config` in each command that it quotes, unless that names a file itself, or reads no configuration. */
export function withConfig(text: string, file: string | undefined): string {
  return text.replaceAll(/(?<='customer-mirror (?!init|signing solve|[^']* --config)[^'\n]+)(?=')/g, () =>
    configOption(file),
  )
}

/** A text in a statement that users copy. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** Commands to be copied, each behind what it is for. `config`: the file that the user named. */
export function commands(rows: Readonly<Record<string, string>>, config: string | undefined): string {
  const line = (what: string, words: string) => `  ${what.padEnd(20)} customer-mirror ${words}${configOption(config)}`
  return linesOf(Object.entries(rows).map(([what, command]) => line(what, command)))
}

/** A number has its digits in threes, and 0 is nothing; a bigint is shown as it is, and what is not known is a dash. */
type Cell = string | number | bigint | null | undefined

/** A table for people, and what is said in place of one without rows. */
export type Table = { head: readonly string[]; rows: readonly (readonly Cell[])[]; none?: string }

export function printTable(stdout: NodeJS.WritableStream, { head, rows, none }: Table): void {
  print(stdout, rows.length === 0 && none !== undefined ? none : renderTable(head, rows, screenOf(stdout)?.columns))
}

/** A table for people. Where it is too wide, empty columns are left out, then cells broken between words, and at last each row becomes a block. */
export function renderTable(head: readonly string[], rows: readonly (readonly Cell[])[], columns = Infinity): string {
  const textOf = (cell: Cell) => (typeof cell === 'number' ? grouped(cell) : plainText(String(cell ?? '–')))
  const all = [[...head], ...rows.map((row) => row.map(textOf))]
  const isNumeric = (cell: Cell) => typeof cell !== 'string' || cell === '–' || cell === 'NULL'
  const isRight = head.map((_, column) => rows.length > 0 && rows.every((row) => isNumeric(row[column])))
  const whole = widthsOf(all, columnsOf)
  if (fits(whole, columns)) return drawTable(all, whole, isRight)
  const isUsed = head.map((_, column) => column === 0 || rows.some((row) => !isNothing(row[column])))
  const pick = <Value>(from: readonly Value[]) => from.filter((_, column) => isUsed[column])
  const longest = widthsOf(all, (text) => Math.max(...text.split(' ').map((word) => columnsOf(word))))
  const widths = narrowed(pick(whole), pick(longest), columns)
  if (widths !== undefined) return drawTable(all.map(pick), widths, pick(isRight))
  return rows.map((row, index) => blockOf(head, row, all[index + 1] ?? [], columns)).join('\n')
}

const GAP = 2

function fits(widths: readonly number[], columns: number): boolean {
  return widths.reduce((sum, width) => sum + width + GAP, -GAP) <= columns
}

function widthsOf(lines: readonly (readonly string[])[], widthOf: (text: string) => number): number[] {
  return (lines[0] ?? []).map((_, column) =>
    lines.reduce((most, line) => Math.max(most, widthOf(line[column] ?? '')), 0),
  )
}

/** The widths at which the table fits without a word being broken: the widest column gives way first. Undefined if there are none. */
function narrowed(whole: readonly number[], least: readonly number[], columns: number): number[] | undefined {
  const widths = [...whole]
  while (!fits(widths, columns)) {
    const room = widths.map((width, column) => (width > (least[column] ?? 0) ? width : 0))
    const widest = room.indexOf(Math.max(...room))
    if (room[widest] === 0) return undefined
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

function drawTable(lines: readonly string[][], widths: readonly number[], isRight: readonly boolean[]): string {
  const drawn = lines.flatMap((cells) => {
    const parts = cells.map((text, column) => wrapText(text, widths[column] ?? 0))
    return Array.from({ length: Math.max(1, ...parts.map(({ length }) => length)) }, (_, line) => {
      const shown = parts.map((part, column) => {
        const text = part[line] ?? ''
        const space = ' '.repeat(Math.max(0, (widths[column] ?? 0) - columnsOf(text)))
        return isRight[column] ? space + text : text + space
      })
      return `${shown.join(' '.repeat(GAP)).trimEnd()}\n`
    })
  })
  return drawn.join('')
}

/** The cells of one row that are not empty, each behind the head of its column. */
function blockOf(head: readonly string[], row: readonly Cell[], texts: readonly string[], columns: number): string {
  const lines = head.flatMap((name, column) => (isNothing(row[column]) ? [] : [[name, texts[column] ?? '']]))
  const [names = 0, longest = 0] = widthsOf(lines, columnsOf)
  return drawTable(lines, [names, Math.min(longest, Math.max(10, columns - names - GAP))], [])
}

function isNothing(cell: Cell): boolean {
  return (cell ?? '') === '' || cell === 0 || cell === '–'
}
