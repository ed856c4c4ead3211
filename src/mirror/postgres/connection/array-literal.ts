/**
 * An array of texts, numbers and truth values as PostgreSQL reads it, by way of JSON, which writes the same but for control characters:
 * several times as fast as the driver, which looks at each character. Undefined for an array of other values.
 */
export function arrayLiteral(values: readonly unknown[]): string | undefined {
  if (!values.every(isPlain)) return undefined
  const json = JSON.stringify(values).slice(1, -1)
  return `{${ESCAPED.test(json) ? json.replaceAll(ANY_ESCAPED, unescaped) : json}}`
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' || value === null || typeof value === 'boolean' || Number.isSafeInteger(value)
}

/** Both escape a quote and a backslash by a backslash; before another character PostgreSQL leaves it out. */
const ESCAPED = /\\[^"\\]/
const ANY_ESCAPED = /\\(?:u([\da-f]{4})|.)/g

function unescaped(escape: string, code: string | undefined): string {
  if (code !== undefined) return String.fromCharCode(parseInt(code, 16))
  return CONTROLS.get(escape) ?? escape
}

const CONTROLS: ReadonlyMap<string, string> = new Map([
  ['\\b', '\b'],
  ['\\f', '\f'],
  ['\\n', '\n'],
  ['\\r', '\r'],
  ['\\t', '\t'],
])
