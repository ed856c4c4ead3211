import type Database from 'better-sqlite3'
import { isOfSqlite, seenIn } from '../errors/faults.ts'
import { PUBLIC_TABLES, type PublicColumn, publicColumns, type PublicTable } from '../model/public-tables.ts'
import { quoted } from '../store/port/sql.ts'
import { sqliteError } from '../store/port/sqlite-errors.ts'
import { attachReadOnly, connect } from '../store/sqlite/connect.ts'
import { digestRows, fillManifest, organizationsInManifest } from './copy-manifest.ts'
import { COPY_APPLICATION_ID } from './file-kind.ts'
import { writeWithoutWaiting } from './open-to-read.ts'
import { isRead, type Recorded, recordedIn } from './organizations.ts'
import type { LeftOut, PublishedCopy } from './publish-plan.ts'
import { GIVEN_BY_SERVER } from './selection.ts'

type BuiltCopy = Pick<PublishedCopy, 'publishedAt' | 'organizations'>

/** How much of the file is kept in memory while it is made, in KB. */
const CACHE_KB = 16_000

/**
 * Fills the empty file at `path` with one state of the mirror, as SQLite reads it anywhere: no WAL, nothing beside it. Rows go
 * from file to file within SQLite, in one read transaction that ends before indexes and digests are made, because a long one
 * holds up the WAL of the mirror. Memory is bounded, whatever the number of rows.
 */
export function buildCopy(path: string, settings: CopySettings): BuiltCopy {
  // Made anew here, it would have another group and another mode.
  const db = connect(path, { fileMustExist: true })
  try {
    writeWithoutWaiting(db)
    db.pragma(`main.cache_size = -${CACHE_KB}`)
    db.pragma(`main.application_id = ${COPY_APPLICATION_ID}`)
    const facts = copyRows(db, settings)
    addIndexes(db)
    digestRows(db)
    db.exec('ANALYZE')
    return { ...facts, organizations: organizationsInManifest(db) }
  } finally {
    db.close()
  }
}

function copyRows(db: Database.Database, settings: CopySettings): Omit<BuiltCopy, 'organizations'> {
  try {
    attachReadOnly(db, settings.mirror, 'mirror')
    const facts = db.transaction(() => {
      // Names of tables are those of the mirror as long as the copy has none.
      const recorded = recordedIn(db, { isCopy: false })
      const leftOut = settings.organization === undefined ? leftOutOf(recorded, settings.organizations) : []
      copyTables(db, { ...settings, leftOut })
      const copied = recorded.filter(({ organization: id }) => (settings.organization ?? id) === id)
      return fillManifest(db, { recorded: copied, leftOut })
    })()
    db.exec('DETACH mirror')
    return facts
  } catch (error) {
    // What is not about room is about the mirror.
    throw isOfSqlite(error) && seenIn(error)?.fault !== 'full' ? sqliteError(error, settings.mirror) : error
  }
}

/** The organizations of the mirror and of the configuration whose list was never read to its end. */
export function leftOutOf(recorded: Recorded, configured: readonly string[]): LeftOut[] {
  const isUnread = (id: string) => !recorded.some((one) => one.organization === id && isRead(one))
  const all = new Set([...recorded.map(({ organization }) => organization), ...configured])
  return [...all]
    .filter(isUnread)
    .toSorted()
    .map((organization) => ({ organization, reason: 'never-read' }))
}

/** What readers look for: the queries of the README, and those by e-mail, by language, and since a moment. */
const INDEXES: readonly { table: string; columns: readonly string[]; by?: string; unique?: true }[] = [
  { table: 'customers', columns: ['organization', 'id'], unique: true },
  { table: 'customers', columns: ['email'] },
  { table: 'customers', columns: ['organization', 'language', 'removed_at'] },
  { table: 'customers', columns: ['updated_at'] },
  { table: 'customers', columns: ['changed_at'] },
  { table: 'changes', columns: ['organization', 'id'] },
  // As in the mirror, for customers_daily.
  {
    table: 'changes',
    columns: ['organization', 'changed_at', 'change'],
    by: 'organization, substr(changed_at, 1, 10), change',
  },
  { table: 'runs', columns: ['organization', 'id'] },
  { table: 'customers_history', columns: ['organization', 'id', 'valid_from'] },
  { table: 'customers_daily', columns: ['organization', 'day'] },
]

/** Adds each index whose table and columns are in the copy. */
function addIndexes(db: Database.Database): void {
  for (const { table, columns, by = columns.join(', '), unique } of INDEXES) {
    if (!isTableWith(db, table, columns)) continue
    const name = `${table}_by_${columns.join('_')}`
    db.exec(`CREATE ${unique ? 'UNIQUE ' : ''}INDEX main.${name} ON ${table} (${by})`)
  }
}

function isTableWith(db: Database.Database, table: string, columns: readonly string[]): boolean {
  const sql = `SELECT name FROM pragma_table_info(?, 'main')
    WHERE EXISTS (SELECT 1 FROM main.sqlite_schema WHERE name = ? AND type = 'table')`
  const found = db.prepare<[string, string], string>(sql).pluck().all(table, table)
  return columns.every((column) => found.includes(column))
}

type CopySettings = {
  mirror: string
  /** Only the rows of this organization; undefined for those of all. */
  organization: string | undefined
  /** The organizations of the configuration, which the mirror may not know yet. */
  organizations: readonly string[]
  withoutPersonalData: boolean
}

/** Numbers of rows within the file of the mirror, and what it finds its own rows by: nothing that a reader could use. */
const INTERNAL = new Set(['customers.row_id', 'rejects.reject_id', 'rejects.record_key'])

/** These number the rows of their table, in order. The last number of a change is known also where that change was deleted. */
const NUMBERS: Readonly<Record<string, string>> = {
  'changes.seq': ' PRIMARY KEY AUTOINCREMENT',
  'runs.id': ' PRIMARY KEY',
}

/** Ages are counted from these dates, and go on while a copy is read. */
const AGES: Readonly<Record<string, string>> = {
  read_age_seconds: 'read_as_of',
  proven_age_seconds: 'proven_as_of',
}

/** A table that holds nothing about customers, and so has no organization: it is in every copy. */
const SHARED = 'dictionary'

type Settings = Pick<CopySettings, 'organization' | 'withoutPersonalData'> & {
  /** Organizations whose rows are not in the copy. */
  leftOut: readonly LeftOut[]
}

/** A view over tables that every copy has. Another one, `customers_daily`, is copied as a table: DuckDB cannot read the view of SQLite. */
const SAME_VIEW = 'customers_history'

/** Fills the copy with what is public in the attached mirror. The caller holds the transaction. */
function copyTables(db: Database.Database, settings: Settings): void {
  for (const table of PUBLIC_TABLES.flatMap((each) => publishedForm(each, settings))) {
    if (table.name === 'active_customers') addActiveCustomers(db, table)
    else if (table.name === 'freshness') copyFreshness(db, table, settings)
    else if (table.name === SAME_VIEW && !settings.withoutPersonalData) addSameView(db)
    else copyTable(db, table, settings)
  }
  carryNumbers(db)
  describeCopy(db)
}

/** The last numbers that were given to changes, so that a reader of the newest ones goes on although these were forgotten since. */
function carryNumbers(db: Database.Database): void {
  db.exec(`DELETE FROM main.sqlite_sequence;
    INSERT INTO main.sqlite_sequence (name, seq)
      SELECT name, seq FROM mirror.sqlite_sequence WHERE name IN ('changes', '${GIVEN_BY_SERVER}')`)
}

/** The public tables with the columns that a copy has. */
export function tablesOfCopy(settings: Pick<Settings, 'withoutPersonalData'>): PublicTable[] {
  return PUBLIC_TABLES.flatMap((table) => publishedForm(table, settings))
}

/** A public table with the columns that are in the copy, and how the value of each is read. */
type PublishedTable = { name: string; meaning: string; columns: readonly (PublicColumn & { value: string })[] }

function publishedForm(
  table: PublicTable,
  { withoutPersonalData }: Pick<Settings, 'withoutPersonalData'>,
): PublishedTable[] {
  const hasOrganization = table.columns.some(({ name }) => name === 'organization')
  if (!hasOrganization && table.name !== SHARED) return []
  // A reject is a record as it came: what of it is personal cannot be known.
  if (withoutPersonalData && table.name === 'rejects') return []
  const columns = table.columns
    .filter(({ name }) => !INTERNAL.has(`${table.name}.${name}`))
    .flatMap((column) => {
      const value = withoutPersonalData ? IMPERSONAL[`${table.name}.${column.name}`] : undefined
      if (value !== undefined) return [{ ...column, value }]
      return withoutPersonalData && column.personal ? [] : [{ ...column, value: quoted(column.name) }]
    })
  return [{ ...table, columns }]
}

/** The message of an error up to where it quotes the service, which may name a person. */
const UNQUOTED = `iif(instr(error, '"') > 0, substr(error, 1, instr(error, '"')) || '…', error)`

/** How columns are read that are in a copy without personal data, though their values may hold some. */
const IMPERSONAL: Readonly<Record<string, string>> = { 'changes.fields': impersonalFields(), 'runs.error': UNQUOTED }

/** `changes.fields` with the fields alone that are not personal; NULL where there are none. */
function impersonalFields(): string {
  const names = publicColumns('customers').filter(({ source, personal }) => source === 'service' && !personal)
  const list = names.map(({ name }) => `'${name}'`).join(', ')
  return `(SELECT NULLIF(json_group_object(key, json(value)), '{}')
    FROM json_each(iif(json_valid(fields), fields, '{}')) WHERE key IN (${list}) AND type = 'array')`
}

function copyTable(db: Database.Database, { name, columns }: PublishedTable, settings: Settings, as = name): void {
  const declared = columns.map((column) => {
    return `${quoted(column.name)} ${column.type}${NUMBERS[`${name}.${column.name}`] ?? ''}`
  })
  db.exec(`CREATE TABLE main.${quoted(as)} (${declared.join(', ')})`)
  const { condition, parameters } = rowsOfCopy(columns, settings)
  const values = columns.map(({ value }) => value).join(', ')
  db.prepare(`INSERT INTO main.${quoted(as)} SELECT ${values} FROM mirror.${quoted(name)} ${condition}`).run(parameters)
}

function rowsOfCopy(columns: readonly PublicColumn[], { organization, leftOut }: Settings) {
  if (!columns.some(({ name }) => name === 'organization')) return { condition: '', parameters: [] }
  if (organization !== undefined) return { condition: 'WHERE organization = ?', parameters: [organization] }
  if (leftOut.length === 0) return { condition: '', parameters: [] }
  const ids = JSON.stringify(leftOut.map((left) => left.organization))
  // The plus keeps the rows in their order: no index is used to find them.
  return { condition: 'WHERE +organization NOT IN (SELECT value FROM json_each(?))', parameters: [ids] }
}

function addActiveCustomers(db: Database.Database, { name, columns }: PublishedTable): void {
  addView(db, name, `SELECT ${namesOf(columns)} FROM customers WHERE removed_at IS NULL`)
}

/** Dates and counts as they were when the copy was made; ages as they are when it is read. */
function copyFreshness(db: Database.Database, table: PublishedTable, settings: Settings): void {
  const stored = `${table.name}_as_published`
  copyTable(db, { ...table, columns: table.columns.filter(({ name }) => AGES[name] === undefined) }, settings, stored)
  const columns = table.columns.map(({ name }) => {
    const since = AGES[name]
    if (since === undefined) return quoted(name)
    return `CAST(ROUND((julianday('now') - julianday(${since})) * 86400) AS INTEGER) AS ${quoted(name)}`
  })
  addView(db, table.name, `SELECT ${columns.join(', ')} FROM ${stored}`)
}

function addSameView(db: Database.Database): void {
  const read = db.prepare<[string], string>('SELECT sql FROM mirror.sqlite_schema WHERE name = ?').pluck()
  db.exec(read.get(SAME_VIEW) ?? '')
}

/** The dictionary of a copy describes the columns that are in it. */
function describeCopy(db: Database.Database): void {
  db.exec(`DELETE FROM main.${SHARED} WHERE NOT EXISTS
    (SELECT 1 FROM pragma_table_info(${SHARED}.table_name, 'main') WHERE name = ${SHARED}.column_name)`)
}

function addView(db: Database.Database, name: string, sql: string): void {
  db.exec(`CREATE VIEW main.${quoted(name)} AS ${sql}`)
}

function namesOf(columns: readonly PublicColumn[]): string {
  return columns.map(({ name }) => quoted(name)).join(', ')
}
