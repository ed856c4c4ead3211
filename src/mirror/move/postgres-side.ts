import { quoted } from '../sql/quoted.ts'
import type { Session } from '../postgres/session.ts'
import { secondOf, storableTime } from '../postgres/stored-time.ts'
import { NUMBERED, type Kind, type MovedTable } from './moved-tables.ts'
import { columnsAfter, ORGANIZATIONS, type Row, type Scope, type Side, type Value, valuesOf } from './side.ts'

/** Numbers of rows read at once. */
const NUMBERS_AT_ONCE = 20_000

/** The server makes their values. */
const GENERATED: ReadonlySet<string> = new Set(['customers.is_active'])

/** A mirror in PostgreSQL, in a transaction under way. */
export function postgresSide(session: Session, place: string): Side {
  let ordered: Promise<unknown> | undefined
  return {
    place,
    organizations: async () =>
      (await session.all<{ organization: string }>(ORGANIZATIONS)).map(({ organization }) => organization),
    count: async (table, scope) => {
      const sql = `SELECT count(*) AS count FROM ${table.name} WHERE ${condition(table, scope)}`
      return (await session.first<{ count: number }>(sql, ...scopeOf(table, scope)))?.count ?? 0
    },
    page: async (table, scope, after) => {
      await (ordered ??= session.run(BY_INDEX))
      return readPage(session, table, scope, after)
    },
    rowNumbers: async (organization) => {
      await (ordered ??= session.run(BY_INDEX))
      return readNumbers(session, organization)
    },
    insert: (table, rows) => insertRows(session, table, rows),
    clear: async ({ name }) => void (await session.run(`DELETE FROM ${name}`)),
    highestNumbers: async () => {
      const numbers: number[] = []
      for (const { table, column } of NUMBERED) {
        const sequence = await sequenceOf(session, table, column)
        const given =
          sequence === undefined ? '0' : `(SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM ${sequence})`
        const sql = `SELECT greatest(${given}, (SELECT max(${column}) FROM ${table})) AS highest`
        numbers.push((await session.first<{ highest: number }>(sql))?.highest ?? 0)
      }
      return numbers
    },
    continueAfter: async (numbers) => {
      for (const [at, { table, column }] of NUMBERED.entries()) {
        const sequence = await sequenceOf(session, table, column)
        const highest = numbers[at] ?? 0
        if (sequence !== undefined && highest > 0)
          await session.run('SELECT setval($1::regclass, $2)', sequence, highest)
      }
    },
  }
}

/**
 * The rows of a page stand together in the index of their key. In a table that was never analyzed the server would rather read all rows of
 * the organization for every page, and sort them. For this transaction.
 */
const BY_INDEX = 'SET LOCAL enable_sort = off; SET LOCAL enable_incremental_sort = off'

async function readPage(session: Session, table: MovedTable, scope: Scope, after: Row | undefined): Promise<Row[]> {
  const parameters: unknown[] = scopeOf(table, scope)
  const key = columnsAfter(table, scope)
  const values = after === undefined ? [] : valuesOf(table, key, after)
  const marks = values.map((_, at) => `$${parameters.length + at + 1}`).join(', ')
  const from = after === undefined ? '' : ` AND (${key.map(quoted).join(', ')}) > (${marks})`
  const columns = Object.entries(table.columns)
  const rows = await session.all<Record<string, unknown>>(
    `SELECT ${columns.map(([name]) => quoted(name)).join(', ')} FROM ${table.name}
     WHERE ${condition(table, scope)}${from} ORDER BY ${table.key.map(quoted).join(', ')} LIMIT ${table.atOnce}`,
    ...parameters,
    ...values,
  )
  return rows.map((row) => columns.map(([name, kind]) => fromServer(row[name], kind)))
}

async function readNumbers(session: Session, organization: string): Promise<Uint32Array> {
  const parts: Uint32Array[] = []
  let last = 0
  for (;;) {
    const rows = await session.all<{ row_id: number }>(
      `SELECT row_id FROM customers WHERE organization = $1 AND row_id > $2 ORDER BY row_id LIMIT ${NUMBERS_AT_ONCE}`,
      organization,
      last,
    )
    parts.push(Uint32Array.from(rows, ({ row_id }) => row_id))
    if (rows.length < NUMBERS_AT_ONCE) break
    last = rows.at(-1)?.row_id ?? last
  }
  const all = new Uint32Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

async function insertRows(session: Session, { name, columns }: MovedTable, rows: readonly Row[]): Promise<void> {
  const written = Object.entries(columns)
    .map(([column, kind], at) => ({ column, kind, at }))
    .filter(({ column }) => !GENERATED.has(`${name}.${column}`))
  const values = written.map(({ kind, at }) => rows.map((row) => forServer(row[at] ?? null, kind)))
  const given = written.map(({ at }) => `c${at}`).join(', ')
  const arrays = written.map(({ kind }, at) => `$${at + 1}::${ARRAYS[kind]}[]`).join(', ')
  const selected = written.map(({ kind, at }) => (CASTS[kind] === undefined ? `c${at}` : `c${at}::${CASTS[kind]}`))
  await session.run(
    `INSERT INTO ${name} (${written.map(({ column }) => quoted(column)).join(', ')})
     SELECT ${selected.join(', ')} FROM unnest(${arrays}) AS given (${given})`,
    ...values,
  )
}

/** The type in which many values of a kind are sent. */
const ARRAYS: Readonly<Record<Kind, string>> = {
  text: 'text',
  order: 'text',
  json: 'text',
  moment: 'text',
  second: 'text',
  integer: 'bigint',
  row: 'bigint',
  place: 'bigint',
  boolean: 'boolean',
  bytes: 'bytea',
  rows: 'bytea',
}

const CASTS: Partial<Readonly<Record<Kind, string>>> = { json: 'json', moment: 'timestamptz', second: 'timestamptz' }

function forServer(value: Value, kind: Kind): unknown {
  if (kind === 'boolean') return value === null ? null : value === 1
  return typeof value === 'string' && (kind === 'moment' || kind === 'second') ? storableTime(value) : value
}

function fromServer(value: unknown, kind: Kind): Value {
  if (typeof value === 'boolean') return value ? 1 : 0
  if (typeof value === 'string') return kind === 'second' ? secondOf(value) : value
  return typeof value === 'number' || Buffer.isBuffer(value) ? value : null
}

function condition({ of }: MovedTable, scope: Scope): string {
  if (scope === undefined || of === 'mirror') return 'true'
  return of === 'organization'
    ? 'organization = ANY ($1)'
    : 'run_id IN (SELECT id FROM runs WHERE organization = ANY ($1))'
}

function scopeOf({ of }: MovedTable, scope: Scope): [] | [readonly string[]] {
  return scope === undefined || of === 'mirror' ? [] : [scope]
}

async function sequenceOf(session: Session, table: string, column: string): Promise<string | undefined> {
  const sql = 'SELECT pg_get_serial_sequence($1, $2) AS name'
  return (await session.first<{ name: string | null }>(sql, table, column))?.name ?? undefined
}
