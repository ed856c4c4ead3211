import {
  LineCounter,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  parseDocument,
  visit,
  type Alias,
  type Document,
  type YAMLError,
} from 'yaml'

/** A YAML or JSON text as plain data, with the position of each part in the text. */
export type Parsed = { data: unknown; place: (path: readonly PropertyKey[], part: Part) => Place }

/** The key itself, or the value it holds. */
export type Part = 'key' | 'value'

/** Both from 1. */
type Place = { line: number; column: number }

export type SyntaxMistake = { message: string; place?: Place }

/** Parses YAML, which includes JSON. Mistakes never repeat the text, which may hold a secret. */
export function parseText(text: string): Parsed | { mistakes: SyntaxMistake[] } {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true, logLevel: 'error' })
  const placeOf = (offset: number): Place => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  const comments = foreignComments(document, text)
  if (comments.length > 0) return { mistakes: comments.map((at) => ({ message: FOREIGN_COMMENT, place: placeOf(at) })) }
  const mistakes = [...syntaxMistakes([...document.errors, ...document.warnings], placeOf), ...loose(document, placeOf)]
  if (mistakes.length > 0) return { mistakes }
  try {
    return { data: document.toJS(), place: (path, part) => placeOf(offsetOf(document, path, part)) }
  } catch {
    // Only an alias that expands to too much data still fails here.
    return { mistakes: [{ message: 'uses its aliases (*name) too often: write the values out' }] }
  }
}

function syntaxMistakes(errors: readonly YAMLError[], placeOf: (offset: number) => Place): SyntaxMistake[] {
  // Too deep nesting is reported once for each further level; one report is enough.
  const exhausted = errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION')
  const found = exhausted === undefined ? errors : [exhausted]
  // Where one part does not fit, none of those after it may.
  const misfit = found.find(({ code }) => MISFITS.has(code))
  const reported = found.filter((error) => !MISFITS.has(error.code) || error === misfit)
  return reported.map((error) => ({ message: wording(error), place: placeOf(error.pos[0]) }))
}

/** Mistakes in the structure, after which the parser takes the rest of the text for something else. */
const MISFITS = new Set<YAMLError['code']>([
  'BAD_INDENT',
  'BLOCK_AS_IMPLICIT_KEY',
  'BLOCK_IN_FLOW',
  'MISSING_CHAR',
  'MULTILINE_IMPLICIT_KEY',
  'TAB_AS_INDENT',
  'UNEXPECTED_TOKEN',
])

function wording({ code, message }: YAMLError): string {
  const [, words] = WORDINGS_BY_TEXT.find(([start]) => message.includes(start)) ?? []
  // The text after a colon is quoted from the file.
  return words ?? WORDINGS[code] ?? `is not valid YAML: ${message.split(/[:\n]/)[0]}`
}

/** Codes that stand for several mistakes, told apart by the words of the parser. */
const WORDINGS_BY_TEXT: readonly (readonly [part: string, words: string])[] = [
  ['at node end', 'has more text after the end of a value: put the whole value in quotes'],
  ['end with a', 'lacks the } or ] that ends what was opened before it'],
  ['Missing closing', 'lacks the quote that ends a text begun before it'],
  ['without - indicator', 'is indented less than the lines above it: give it as many spaces as they have'],
  ['followed by map values', 'is a key without a colon: write a colon and a value after it'],
]

const WORDINGS: Partial<Record<YAMLError['code'], string>> = {
  BAD_ALIAS: 'has an alias or anchor with a bad name',
  BAD_DIRECTIVE: 'has an unknown directive: remove the line that begins with %',
  BAD_INDENT: 'is not indented like the lines above it: give it as many spaces as they have',
  BAD_DQ_ESCAPE: 'has an unknown escape after a backslash: use single quotes, or write the backslash twice',
  BAD_COLLECTION_TYPE: 'has a tag that does not fit: remove the !tag',
  BAD_SCALAR_START: 'begins with a character that needs quotes: put the value in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'has a key within a value: indent the next line like this one, or put a value with a colon in quotes',
  BLOCK_IN_FLOW: 'has a colon that does not fit within braces or brackets: look for a missing comma or quote',
  DUPLICATE_KEY: 'is a key that was already given above: keep one of the two',
  IMPOSSIBLE: 'is not valid YAML',
  MULTILINE_IMPLICIT_KEY: 'is not a key and its value: write a colon and a space between them',
  MULTIPLE_DOCS: 'begins a second document: keep one, without --- between',
  NON_STRING_KEY: 'is a key that is not plain text',
  RESOURCE_EXHAUSTION: 'is nested too deeply',
  TAB_AS_INDENT: 'is indented with a tab: use spaces',
  TAG_RESOLVE_FAILED: 'has an unknown tag: remove the !tag',
}

const FOREIGN_COMMENT = 'begins a comment as in JavaScript, which is none here: begin it with #'

/** The offsets of comments with two slashes, or a slash and a star, that were read as text: at the beginning, or in a key. */
function foreignComments(document: Document.Parsed, text: string): number[] {
  const first = /^\uFEFF?\s*(?=\/[/*])/.exec(text)
  if (first !== null) return [first[0].length]
  const found: number[] = []
  visit(document, {
    Pair: (_, { key }) => {
      if (isScalar(key) && /^\/[/*]/.test(String(key.value))) found.push(key.range?.[0] ?? 0)
    },
  })
  return found
}

/** Aliases without an anchor before them. */
function loose(document: Document.Parsed, placeOf: (offset: number) => Place): SyntaxMistake[] {
  const anchors = new Set<string>()
  const aliases: Alias[] = []
  visit(document, {
    Node: (_key, node) => {
      if (!isAlias(node) && node.anchor !== undefined) anchors.add(node.anchor)
    },
    Alias: (_key, alias) => {
      if (!anchors.has(alias.source)) aliases.push(alias)
    },
  })
  return aliases.map((alias) => ({
    message: 'is an alias (*name) without an anchor (&name) before it; put text that begins with * in quotes',
    place: placeOf(alias.range?.[0] ?? 0),
  }))
}

/** The offset of a path, or of its innermost part that exists. */
function offsetOf(document: Document.Parsed, path: readonly PropertyKey[], part: Part): number {
  let node: unknown = document.contents
  let offset = document.contents?.range[0] ?? 0
  for (const [depth, step] of path.entries()) {
    const inner = isAlias(node) ? node.resolve(document) : node
    const pair = isMap(inner)
      ? inner.items.find(({ key }) => isScalar(key) && String(key.value) === String(step))
      : undefined
    node = isSeq(inner) ? inner.items[Number(step)] : pair?.value
    const target = depth === path.length - 1 && part === 'key' ? pair?.key : node
    offset = startOf(target) ?? startOf(pair?.key) ?? offset
  }
  return offset
}

function startOf(node: unknown): number | undefined {
  return isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node.range?.[0] : undefined
}
