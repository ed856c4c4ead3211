import { either, fromSqlTime, joined, sql, text, UnreadableValue } from '../port/sql.ts'
import type { Session } from '../port/store.ts'
import { TIMES } from '../schema/schema.ts'

/** Throws UnreadableValue where a date was written by hand that this program cannot read: it names table, row and column. */
export async function requireReadableTimes(session: Session) {
  for (const [table, columns] of COLUMNS) {
    const odd = joined(
      columns.map((column) => sql`(${either(NOT_IN_FILE(column), NOT_ON_SERVER(column))})`),
      ' OR ',
    )
    const shown = text([`CAST(${KEYS[table] ?? 'organization'} AS text) AS row`, ...columns].join(', '))
    const rows = await session.all<Record<string, unknown>>(
      sql`SELECT ${shown} FROM ${text(table)} WHERE ${odd} LIMIT ${MOST}`,
    )
    for (const { row, ...times } of rows)
      for (const [column, time] of Object.entries(times))
        requireReadable(time, `${column} in the row ${String(row)} of ${table}`)
  }
}

function requireReadable(time: unknown, where: string) {
  try {
    if (time !== null) fromSqlTime(time)
  } catch (error) {
    throw error instanceof UnreadableValue ? new UnreadableValue(`${where} ${error.message}`) : error
  }
}

const COLUMNS = new Map<string, string[]>()
for (const time of TIMES) {
  const [table = '', column = ''] = time.split('.')
  COLUMNS.set(table, [...(COLUMNS.get(table) ?? []), column])
}

/** What names a row of a table, where it is not the organization. */
const KEYS: Partial<Record<string, string>> = {
  runs: 'id',
  customers: `organization || ' ' || id`,
  changes: 'seq',
  rejects: 'reject_id',
  last_update: 'id',
  forgotten: 'number',
}

/** Rows that may only look odd: a year of five digits can be read. */
const MOST = 1000

const NOT_IN_FILE = (column: string) =>
  `${column} IS NOT NULL AND (julianday(${column}) IS NULL OR ${column} NOT GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9]*')`
const NOT_ON_SERVER = (column: string) => `NOT (${column} >= '0001-01-01' AND ${column} < '10000-01-01')`
