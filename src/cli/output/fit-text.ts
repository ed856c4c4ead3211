/** Columns of a text on a terminal: East Asian letters and emoji take two, combining marks none. */
export function columnsOf(text: string): number {
  if (PLAIN.test(text)) return text.length
  let columns = 0
  for (const character of text) columns += MARK.test(character) ? 0 : WIDE.test(character) ? 2 : 1
  return columns
}

/** The text in lines of at most `width` columns, broken between words; longer words are broken too, never cut off. */
export function wrapText(text: string, width: number): string[] {
  return wrapped(text, width, (word) => brokenAt(word, Math.max(1, width)))
}

/** The same with longer words as they are, such as a path: a terminal breaks them by itself, and what is copied there stays whole. */
export function wrapWords(text: string, width: number): string[] {
  return wrapped(text, width, (word) => [word])
}

function wrapped(text: string, width: number, piecesOf: (word: string) => string[]): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/).filter((part) => part !== '')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (columnsOf(longer) <= width) {
      line = longer
      continue
    }
    if (line !== '') lines.push(line)
    const pieces = piecesOf(word)
    line = pieces.pop() ?? ''
    lines.push(...pieces)
  }
  return line === '' ? lines : [...lines, line]
}

/** The lines of the text, each in lines of at most `width` columns; those that go on with one are indented a little more. Commands and words stay whole. */
export function wrapLines(text: string, width: number): string {
  const fitted = text.split('\n').flatMap((line) => {
    if (columnsOf(line) <= width || COMMAND.test(line)) return [line]
    const indent = ' '.repeat(line.length - line.trimStart().length)
    const [first = '', ...more] = wrapWords(line, width - indent.length - 2)
    return [indent + first, ...more.map((part) => `${indent}  ${part}`)]
  })
  return fitted.join('\n')
}

/** What an entry is about, then its text, which goes on below itself; where that leaves no room for words, it stands below the start. */
export function hanging(start: string, text: string, width: number): string {
  const room = width - columnsOf(start)
  const isBelow = room < LEAST_ROOM && columnsOf(text) > room
  const indent = isBelow ? '    ' : ' '.repeat(columnsOf(start))
  const lines = wrapText(text, isBelow ? width - indent.length : room)
  return isBelow ? [start.trimEnd(), ...lines].join(`\n${indent}`) : start + lines.join(`\n${indent}`)
}

const LEAST_ROOM = 20

/** To be copied. */
const COMMAND = /^ *(?:\$ |fix: |\d\. )?(?:customer-mirror|chmod|sudo|DELETE FROM|UPDATE|mirror:) /

/** The text in `width` columns at the least, with spaces behind it, or before it where it stands on the right. */
export function padded(text: string, width: number, { isRight = false } = {}): string {
  const space = ' '.repeat(Math.max(0, width - columnsOf(text)))
  return isRight ? space + text : text + space
}

/** The text in at most `width` columns, shortened with an ellipsis if necessary. */
export function cutText(text: string, width: number): string {
  return columnsOf(text) <= width ? text : `${brokenAt(text, Math.max(1, width - 1))[0] ?? ''}…`
}

function brokenAt(text: string, width: number): string[] {
  const pieces: string[] = []
  let piece = ''
  for (const character of text) {
    if (piece !== '' && columnsOf(piece + character) > width) {
      pieces.push(piece)
      piece = ''
    }
    piece += character
  }
  return piece === '' ? pieces : [...pieces, piece]
}

const PLAIN = /^[\x20-\x7e]*$/
/** Marks with a width of their own, as vowels of Hindi have, take one column. */
const MARK = /[\p{Mn}\p{Me}\p{Cf}]/u
/** East Asian letters, and emoji that are one without a sign after them. Two regional indicators make a flag of two columns. */
const WIDE =
  /[[\p{Emoji_Presentation}--\p{Regional_Indicator}]\u1100-\u115f\u2e80-\u303e\u3041-\u3247\u3250-\u4dbf\u4e00-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/v
