import { MirrorUnusable } from '../../errors/errors.ts'
import { parsedJson } from '../../parsed-json.ts'
import { storableJson, storableText } from '../../storable-text.ts'
import type { Kind, MovedTable } from './moved-tables.ts'
import { keyOf, type Row, type Value } from './side.ts'

/** How many values were changed, because PostgreSQL cannot hold U+0000 or half a surrogate pair. */
export type Replaced = { values: number }

/**
 * A row of SQLite as PostgreSQL can hold it, with U+FFFD for what PostgreSQL cannot hold. SQLite holds any value in any column; throws MirrorUnusable
 * `damaged` for one of another kind than its column, which only a person can have written there.
 */
export function storableRow(row: Row, table: MovedTable, replaced: Replaced, place: string): Row {
  const columns = Object.entries(table.columns)
  return row.map((value, at) => {
    const [name, kind] = columns[at] ?? ['', 'text']
    const text = typeof value === 'number' && TEXTS.has(kind) ? String(value) : value
    if (text === null || !isOf(kind, text)) {
      if (text === null) return null
      throw new MirrorUnusable(
        `${place}: the row (${keyOf(table, row).join(', ')}) of ${table.name} has a value in ${name} that is none of that kind. ` +
          'It was changed by hand: correct it there, then try again.',
        { code: 'damaged' },
      )
    }
    return withoutNull(text, kind, replaced)
  })
}

const TEXTS: ReadonlySet<Kind> = new Set(['text', 'json'])

function isOf(kind: Kind, value: Exclude<Value, null>): boolean {
  if (kind === 'bytes' || kind === 'rows') return Buffer.isBuffer(value)
  if (kind === 'moment' || kind === 'second') return typeof value === 'string' && TIME.test(value)
  if (kind === 'text' || kind === 'order') return typeof value === 'string'
  if (kind === 'json') return typeof value === 'string' && parsedJson(value) !== undefined
  return Number.isSafeInteger(value)
}

const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?$/

function withoutNull(value: Exclude<Value, null>, kind: Kind, replaced: Replaced): Value {
  if (typeof value !== 'string') return value
  const stored = kind === 'json' ? storableJson(value) : storableText(value)
  if (stored !== value) replaced.values += 1
  return stored
}
