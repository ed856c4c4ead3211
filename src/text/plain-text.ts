/* Every text from outside passes here before a terminal or a page shows it: of customers, foreign files, triggers, servers and the system. */

/** What a terminal acts on instead of showing it: control characters, and what turns or hides the text around it. */
const ACTS = /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu

/** The text on one line, with everything that a terminal would act on written out: `\n`, `\u001b`. */
export function plainText(text: string): string {
  return PLAIN.test(text) ? text : text.replaceAll(ACTS, (character) => SHORT[character] ?? escaped(character))
}

/** The same of a text of several lines, which stay lines. */
export function plainLines(text: string): string {
  return text.split('\n').map(plainText).join('\n')
}

/** As `plainText` for a text in JSON, which means the same afterwards. */
export function plainJson(json: string): string {
  return PLAIN.test(json) ? json : json.replaceAll(ACTS, escaped)
}

const PLAIN = /^[\x20-\x7e]*$/

const SHORT: Readonly<Record<string, string>> = { '\n': String.raw`\n`, '\r': String.raw`\r`, '\t': String.raw`\t` }

export function escaped(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}
