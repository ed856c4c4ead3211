/*
 * PostgreSQL stores no U+0000. Neither it nor DuckDB reads JSON in which half of a surrogate pair is escaped, and Python no such text of SQLite:
 * one such value would fail each statement of a reader that looks into all of them. U+FFFD stands in their place.
 */

/** Whether every store can hold a text as it is. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** A text as every store can hold it; the same text where nothing is replaced. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}

/** JSON as every store can read it; the same text where nothing is replaced. JSON holds both only as escapes. */
export function storableJson(json: string): string {
  return UNREADABLE.test(json)
    ? json.replaceAll(ESCAPES, (escape, alone) => (alone === undefined ? escape : '\uFFFD'))
    : json
}

/** Escape by escape: a backslash may be escaped itself, and two halves may follow each other. Those in the group are replaced. */
const UNREADABLE = /\\u(?:0000|d[89a-f])/i
const ESCAPES = /\\ud[89ab]..\\ud[c-f]..|\\(u0000|ud[89a-f]..)|\\./gis
