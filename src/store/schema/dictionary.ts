import { PUBLIC_TABLES } from '../../model/public-tables.ts'
import type { ServerSession } from '../port/postgres-connections.ts'
import { given, sql, text } from '../port/sql.ts'
import { together } from '../port/store.ts'
import type { Connection } from '../sqlite/connect.ts'

const ROWS = PUBLIC_TABLES.flatMap(({ name, columns }) =>
  columns.map(({ name: column_name, type, meaning, source, nullable, personal }) => {
    return { table_name: name, column_name, type, meaning, source, nullable, personal }
  }),
)

/** Writes what each public column holds into a file, where it differs. The caller holds the transaction. */
export function describeInFile(db: Connection): void {
  const rows = ROWS.map((row) =>
    Object.values({ ...row, nullable: Number(row.nullable), personal: Number(row.personal) }),
  )
  const stored = db.prepare('SELECT * FROM dictionary ORDER BY rowid').raw().all()
  if (JSON.stringify(stored) === JSON.stringify(rows)) return
  db.exec('DELETE FROM dictionary')
  const insert = db.prepare('INSERT INTO dictionary VALUES (?, ?, ?, ?, ?, ?, ?)')
  for (const row of rows) insert.run(row)
}

/** What a column of this name holds on a server, where it is another thing than in a file. */
const MEANINGS_THERE: Readonly<Record<string, string>> = {
  'customers.row_id': 'number of the row within its organization; to join with other mirrors use organization and id',
  'rejects.reject_id': 'number of the reject within this mirror',
  'dictionary.type': 'type in PostgreSQL',
  'dictionary.nullable': 'true where the column may be NULL',
  'dictionary.personal': 'true where the column may hold personal data of a customer',
  'customers.is_active': 'true while the customer is not removed, false after',
  'customers_normalized.is_active': 'true while the customer is not removed, false after',
  'active_customers.is_active': 'true while the customer is not removed, false after',
}

const TYPES_THERE = sql`SELECT relname || '.' || attname AS name, format_type(atttypid, atttypmod) AS type
  FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid WHERE relnamespace = current_schema()::regnamespace`

/** Writes the same on a server, with the types that it has, where it differs; only says whether it does where `write` is false. */
export async function describeOnServer(session: ServerSession, { write }: { write: boolean }): Promise<boolean> {
  const [types, stored] = await together(
    session.all<{ name: string; type: string }>(TYPES_THERE),
    session.all<object>(sql`SELECT ${NAMES} FROM dictionary`),
  )
  const typeOf = new Map(types.map(({ name, type }) => [name, type]))
  const rows = ROWS.map((row) => {
    const name = `${row.table_name}.${row.column_name}`
    return { ...row, type: typeOf.get(name), meaning: MEANINGS_THERE[name] ?? row.meaning }
  })
  const sorted = (all: readonly object[]) => all.map((row) => JSON.stringify(row)).toSorted()
  if (sorted(stored).join() === sorted(rows).join()) return false
  if (!write) return true
  await session.run(sql`DELETE FROM dictionary`)
  await session.run(sql`INSERT INTO dictionary (${NAMES}) SELECT ${NAMES} FROM ${given(rows, COLUMNS)}`)
  return true
}

const COLUMNS = {
  ...({ table_name: 'text', column_name: 'text', type: 'text', meaning: 'text', source: 'text' } as const),
  ...({ nullable: 'boolean', personal: 'boolean' } as const),
}
const NAMES = text(Object.keys(COLUMNS).join(', '))
