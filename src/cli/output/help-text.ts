import { columnsOf, wrapText } from './fit-text.ts'

/** Columns of a help text where there is no terminal, and on a wide one: longer lines are tiring to read. */
const USUAL = 80
const WIDEST = 100
const NARROWEST = 40

/** How wide a help text is on a terminal of so many columns; undefined where there is none. */
export function helpColumns(columns: number | undefined): number {
  return columns === undefined || columns > WIDEST ? USUAL : Math.max(columns, NARROWEST)
}

/** The paragraphs and the rows of a help text in lines of at most `width` columns. Commands stay whole, to be copied. */
export function wrapHelp(text: string, width: number): string {
  const wrapped: string[] = []
  let paragraph: string[] = []
  const endParagraph = () => {
    wrapped.push(...wrapParagraph(paragraph, width))
    paragraph = []
  }
  for (const line of text.split('\n')) {
    const isSame = paragraph[0] === undefined || indentOf(paragraph[0]) === indentOf(line)
    const row = ROW.exec(line)
    const staysWhole = line === '' || COMMAND.test(line)
    if (!isSame || staysWhole || row !== null) endParagraph()
    if (staysWhole) wrapped.push(line)
    else if (row !== null) wrapped.push(...wrapRow(row, width))
    else paragraph.push(line)
  }
  endParagraph()
  return wrapped.join('\n')
}

/** An example, the options that continue one, and what stands after a prose with two spaces between. */
const COMMAND = /^ +(\$ |--|customer-mirror )|\S \S.* {2,}\S/
/** A word, and what it means. */
const ROW = /^( *\S+ {2,})(\S.*)$/

/** As it was written, where all of its lines are short enough. */
function wrapParagraph(lines: readonly string[], width: number): readonly string[] {
  if (lines.every((line) => columnsOf(line) <= width)) return lines
  const indent = indentOf(lines[0] ?? '')
  return wrapText(lines.join(' '), width - indent.length).map((line) => indent + line)
}

function wrapRow([line, word = '', meaning = '']: RegExpExecArray, width: number): string[] {
  if (columnsOf(line) <= width) return [line]
  const [first = '', ...more] = wrapText(meaning, width - word.length)
  return [word + first, ...more.map((each) => ' '.repeat(word.length) + each)]
}

function indentOf(line: string): string {
  return /^ */.exec(line)?.[0] ?? ''
}
