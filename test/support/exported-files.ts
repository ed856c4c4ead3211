import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import Database from 'better-sqlite3'
import { expect, onTestFinished } from 'vitest'
import type { ExportColumn, ExportFacts, ExportRow, Format, FormatSettings } from '../../src/copies/format.ts'
import { parquetFormat } from '../../src/copies/parquet.ts'
import { beginExport, type Selection } from '../../src/copies/export-mirror.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import { aCustomer, customers, type SentRecord } from './builders.ts'
import { blocksIn, PAGES } from './documents.ts'
import { rowsOf, temporaryFolder } from './mirror-file.ts'

/** The statements of docs/read/exports.md: what takes a copy, what applies changes to it, and what checks it. */
const [TAKE = '', APPLY = '', CHECK = ''] = PAGES.filter(({ name }) => name === 'docs/read/exports.md')
  .flatMap((page) => blocksIn(page, 'duckdb'))
  .filter(({ heading }) => heading === 'A copy and its changes')
  .map(({ text }) => text)

export async function exported({ file }: Pick<Mirror, 'file'>, selection: Partial<Selection> = {}): Promise<string> {
  const { parts } = partsOf(file, selection, parquetFormat({ ids: 'text' }))
  return written('exported.parquet', parts)
}

/** What is exported from a mirror: its rows as objects, what is known before the first of them, and what is reported after. */
export async function exportedFrom(file: string, selection: Partial<Selection> = {}) {
  const rows: Record<string, unknown>[] = []
  let facts: ExportFacts | undefined
  const { done } = partsOf(file, selection, (given, about) => {
    facts = about
    for (const row of given) rows.push(Object.fromEntries(about.columns.map(({ name }, index) => [name, row[index]])))
    return []
  })
  return { rows, facts, done }
}

function partsOf(file: string, selection: Partial<Selection>, format: Format) {
  const db = new Database(file, { readonly: true, fileMustExist: true })
  try {
    const selected = { selection: { organizations: [], ...selection }, configured: [], format }
    const { chunks, exported: done } = beginExport(db.defaultSafeIntegers(), selected)
    return { parts: Array.from(chunks, (chunk) => Buffer.from(chunk)), done }
  } finally {
    db.close()
  }
}

function written(name: string, parts: Iterable<Uint8Array | string>): string {
  const file = join(temporaryFolder(), name)
  writeFileSync(file, Buffer.concat(Array.from(parts, (part) => Buffer.from(part))))
  return file
}

export async function aCopy(file: string) {
  const duckdb = await aDuckDb()
  const [create = '', readSeq = ''] = TAKE.replaceAll('copy.parquet', file).trim().split(';\n')
  await duckdb.all(create)
  const [named] = await duckdb.all(readSeq)
  return {
    lastSeq: Number(named?.['last_seq']),
    async apply(changes: string) {
      for (const sql of APPLY.replaceAll('changes.parquet', changes).trim().split(';\n')) await duckdb.all(sql)
    },
    rows: async () => comparable(await duckdb.all('FROM customers ORDER BY organization, id')),
    differing: (changes: string) => duckdb.all(CHECK.replaceAll('changes.parquet', changes)),
  }
}

/** Rows of SQLite or DuckDB, with times and numbers in one form. */
function comparable(rows: readonly DuckRow[]): DuckRow[] {
  const inOneForm = (name: string, value: unknown) => {
    if (value === null) return null
    if (name === 'is_active') return Boolean(value)
    if (name === 'last_run_id') return Number(value)
    if (typeof value !== 'string' || !/_(at|at_utc|since)$/.test(name) || name === 'created_at') return value
    return new Date(`${value.replace('+00', '').replace(' ', 'T')}Z`).toISOString()
  }
  const shown = (row: DuckRow) => Object.entries(row).map(([name, value]) => [name, inOneForm(name, value)])
  return rows.map((row) => Object.fromEntries(shown(row)))
}

export function activeIn(mirror: Pick<Mirror, 'file'>): DuckRow[] {
  return comparable(rowsOf(mirror.file, 'SELECT * FROM active_customers ORDER BY organization, id'))
}

export async function expectJoined(mirror: Mirror, copyFile: string): Promise<void> {
  const copy = await aCopy(copyFile)
  const changes = await exported(mirror, { changesSince: copy.lastSeq })
  await copy.apply(changes)
  expect(await copy.rows()).toEqual(activeIn(mirror))
  expect(await copy.differing(changes)).toEqual([])
  await copy.apply(changes)
  expect(await copy.rows(), 'applied twice').toEqual(activeIn(mirror))
}

/**
 * Six nights of acme: customer 1 changes twice, 2 is removed and returns, 3 is removed, 4 goes missing and comes back, 5 comes
 * and is removed, 6 gets fields that the specification does not know, 7 returns with other values, 8 comes late.
 */
export function listOf(n: number): SentRecord[] {
  const [once, twice, back] = [{ name: 'Once' }, { name: 'Twice' }, { name: 'Back' }]
  const lists: [n: number, fields?: SentRecord][][] = [
    [[1], [2], [3], [4], [6], [7]],
    [[1, once], [3], [5], [6, { tier: 1 }]],
    [[1, once], [4], [5], [6, { tier: 2, 'ä"': [null] }]],
    [[1, { ...twice, email: null }], [4], [6], [7, { phone: 'new' }]],
    [
      [1, twice],
      [2, back],
      [7, { phone: 'new' }],
    ],
    [[1, { name: '' }], [2, back], [4], [8]],
  ]
  return [...(lists[n] ?? []).map(([customer, fields]) => aCustomer(customer, fields)), ...customers(10, 60)]
}

export const column = (name: string, type: ExportColumn['type']): ExportColumn => ({ name, type })

export const FACTS: ExportFacts = {
  table: 'active_customers',
  columns: [],
  exportedAt: '2026-01-05 02:00:00.000',
  changesSince: undefined,
  lastSeq: 7,
  organizations: [
    {
      organization: 'acme',
      run: 3,
      proof: 'proven',
      readAsOf: '2026-01-05 01:00:00.000',
      provenAsOf: null,
      retiredAt: '2026-01-04 12:00:00.000',
      active: 2,
    },
  ],
}

export async function write(
  columns: ExportColumn[],
  rows: Iterable<ExportRow>,
  { ids = 'text', ...facts }: Partial<ExportFacts> & Partial<Pick<FormatSettings, 'ids'>> = {},
) {
  return { file: written('rows.parquet', parquetFormat({ ids })(rows, { ...FACTS, ...facts, columns })) }
}

/** A row as DuckDB shows it: every value as text, true, false or null. */
export type DuckRow = Record<string, unknown>

/** DuckDB in memory, which reads files as any program of analysts would, with tables of its own for each call. Closed when the test ends. */
export async function aDuckDb() {
  const connection = await (await (instance ??= DuckDBInstance.create(':memory:', { threads: '1' }))).connect()
  onTestFinished(() => connection.closeSync())
  const tables = `tables_${(made += 1)}`
  for (const sql of [`SET TimeZone = 'UTC'`, `ATTACH ':memory:' AS ${tables}`, `USE ${tables}`])
    await connection.run(sql)
  return {
    all: async (sql: string): Promise<DuckRow[]> => (await connection.runAndReadAll(sql)).getRowObjectsJson(),
  }
}

let instance: Promise<DuckDBInstance> | undefined
let made = 0
