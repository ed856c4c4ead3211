import { portionsOf, tablesOf, type Copying } from './copy-mirror.ts'
import { type MovedTable } from './moved-tables.ts'
import { keyOf, type Row, type Side, type Value } from './side.ts'

/** The first difference found: a table, and the key and the column where it is. Values are personal data, so there are none. */
export type Difference = { table: string; key: string; column: string }

/**
 * Compares every value of every row with what was copied, and counts the rows of both. Undefined where all is the same. The target is read
 * from the store, and not from what was sent to it.
 */
export async function compareMirrors(from: Side, to: Side, copying: Copying): Promise<Difference | undefined> {
  for (const table of tablesOf(copying)) {
    const [before, after] = [await from.count(table, copying.organizations), await to.count(table, undefined)]
    if (before !== after) return { table: table.name, key: '', column: `${after} rows instead of ${before}` }
  }
  const last = new Map<string, Row>()
  for await (const { table, scope, rows } of portionsOf(from, copying, { values: 0 })) {
    const place = JSON.stringify([table.name, scope])
    const found = await to.page(table, scope, last.get(place))
    for (const [at, row] of rows.entries()) {
      const column = differingColumn(table, row, found[at] ?? [])
      if (column !== undefined) return { table: table.name, key: keyOf(table, row).join(', '), column }
    }
    const end = found.at(-1)
    if (end !== undefined) last.set(place, end)
    copying.onRows?.(rows.length)
  }
  return undefined
}

function differingColumn({ columns }: MovedTable, row: Row, found: Row): string | undefined {
  return Object.keys(columns).find((_, at) => !isSame(row[at] ?? null, found[at]))
}

function isSame(one: Value, other: Value | undefined): boolean {
  return Buffer.isBuffer(one) ? Buffer.isBuffer(other) && one.equals(other) : one === other
}
