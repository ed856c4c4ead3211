import { readFile, stat } from 'node:fs'
import { promisify } from 'node:util'
import { ConfigError, type Problem } from '../errors/errors.ts'
import { codeOf } from '../errors/faults.ts'
import { LineCounter, isMap, isNode, isScalar, parseDocument, visit } from 'yaml'
import type { Document, Pair, YAMLError } from 'yaml'

/** A YAML or JSON text as plain data, with the position of each part in the text. */
export type Parsed = ReturnType<typeof parseText>

/** A value by its path, or its key itself. */
type Where = { path: readonly PropertyKey[]; isKey?: boolean }

/** One mistake in the data of a configuration, not yet placed in its text. No message repeats a value. */
export type Mistake = Where & { message: string }

/** Parses YAML, which includes JSON. Throws ConfigError where it is none, or is empty, which never repeats the text: it may hold a secret. */
export function parseText(text: string, file: string) {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true, logLevel: 'error' })
  const refuse = (message: string, place?: Problem['place']) => new ConfigError([{ file, place, message }])
  // After one mistake the parser takes the rest of the text for something else.
  const [error] = [...document.errors, ...document.warnings]
  if (error !== undefined) {
    // What follows a colon may be quoted from the file.
    const message = WORDINGS[error.code] ?? `is not valid YAML: ${error.message.split(/[:;\n]/)[0]}`
    throw refuse(message, lines.linePos(error.pos[0]))
  }
  visit(document, {
    Alias: (_key, alias) => {
      if (alias.resolve(document) === undefined) throw refuse(LOOSE, lines.linePos(alias.range?.[0] ?? 0))
    },
  })
  let data: unknown
  try {
    data = document.toJS()
  } catch {
    // Only an alias that expands to too much data still fails here.
    throw refuse('uses its aliases (*name) too often: write the values out')
  }
  if (data === null) throw refuse("is empty: remove it, and 'customer-mirror init' writes one to start from")
  return { data, place: (where: Where) => lines.linePos(offsetOf(document, where)) }
}

const WORDINGS: Partial<Record<YAMLError['code'], string>> = {
  BLOCK_AS_IMPLICIT_KEY:
    'has a key within a value: indent the next line like this one, or put a value with a colon in quotes',
  RESOURCE_EXHAUSTION: 'is nested too deeply',
}

const LOOSE = 'is an alias (*name) without an anchor (&name) before it; put text that begins with * in quotes'

/** The offset of a path, or of its innermost part that exists. */
function offsetOf(document: Document.Parsed, { path, isKey = false }: Where): number {
  const above = document.getIn(path.slice(0, -1), true)
  const isAsked = ({ key }: Pair) => isScalar(key) && key.value === path.at(-1)
  const key = isKey && isMap(above) ? above.items.find(isAsked)?.key : undefined
  const node = key ?? document.getIn(path, true)
  if (isNode(node) && node.range) return node.range[0]
  return path.length === 0 ? 0 : offsetOf(document, { path: path.slice(0, -1) })
}

/** What stands at a path in data of any shape; undefined where there is nothing. */
export function valueAt(data: unknown, ...path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, step) => Object.getOwnPropertyDescriptor(Object(inner), step)?.value, data)
}

/** A small UTF-8 file without its byte order mark; or, as a phrase that continues "the file …", why there is none. Never throws. */
export async function readText(path: string, { maxBytes }: { maxBytes: number }) {
  try {
    // A thread could wait for a pipe for ever, and read a device for ever.
    const found = await promisify(stat)(path)
    if (!found.isFile() && !found.isDirectory()) return { problem: 'is a pipe or a device, not a file', missing: false }
    if (found.size > maxBytes) return { problem: `is larger than ${maxBytes / 1024} KiB`, missing: false }
    // By callbacks: streams, and what returns promises, take a fortieth of a start to load.
    const bytes = await promisify(readFile)(path)
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch (error) {
    const code = codeOf(error) ?? 'unknown'
    return { problem: PHRASES[code] ?? `cannot be read (${code})`, missing: code === 'ENOENT' }
  }
}

const PHRASES: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EISDIR: 'is a folder, not a file',
  EACCES: 'cannot be read: this user has no permission',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'is not UTF-8: save it as UTF-8',
}
