import type Database from 'better-sqlite3'
import { digestRows, fillManifest, organizationsInManifest } from './copy-manifest.ts'
import { COPY_APPLICATION_ID, writeWithoutWaiting } from './open-to-read.ts'
import { isRead, type Recorded, recordedIn } from './organizations.ts'
import type { LeftOut, PublishedCopy } from './publish-plan.ts'
import { GIVEN_BY_SERVER } from './selection.ts'
import { isOfSqlite, seenIn } from '../errors/faults.ts'
import { PUBLIC_TABLES, type PublicColumn, publicColumns, type PublicTable } from '../model/public-tables.ts'
import { quoted } from '../store/port/sql.ts'
import { sqliteError } from '../store/port/sqlite-errors.ts'
import { attachReadOnly, connect } from '../store/sqlite/connect.ts'

type CopySettings = {
  mirror: string
  /** Only the rows of this organization; undefined for those of all. */
  organization: string | undefined
  /** The organizations of the configuration, which the mirror may not know yet. */
  organizations: readonly string[]
  withoutPersonalData: boolean
}

/**
 * Fills the empty file at `path` with one state of the mirror, as SQLite reads it anywhere: no WAL, nothing beside it. Rows go
 * from file to file within SQLite, in one read transaction that ends before indexes and digests are made, because a long one
 * holds up the WAL of the mirror. Memory is bounded, whatever the number of rows.
 */
export function buildCopy(path: string, settings: CopySettings): Pick<PublishedCopy, 'publishedAt' | 'organizations'> {
  // Made anew here, it would have another group and another mode.
  const db = connect(path, { fileMustExist: true })
  try {
    writeWithoutWaiting(db)
    db.pragma('main.cache_size = -16000')
    db.pragma(`main.application_id = ${COPY_APPLICATION_ID}`)
    const publishedAt = copyRows(db, settings)
    addIndexes(db)
    digestRows(db)
    db.exec('ANALYZE')
    return { publishedAt, organizations: organizationsInManifest(db) }
  } finally {
    db.close()
  }
}

function copyRows(db: Database.Database, settings: CopySettings): string {
  const { mirror, organization, organizations } = settings
  try {
    attachReadOnly(db, mirror, 'mirror')
    const publishedAt = db.transaction(() => {
      // Names of tables are those of the mirror as long as the copy has none.
      const recorded = recordedIn(db, { isCopy: false })
      const leftOut = organization === undefined ? leftOutOf(recorded, organizations) : []
      copyTables(db, { ...settings, leftOut })
      const copied = recorded.filter((one) => (organization ?? one.organization) === one.organization)
      return fillManifest(db, { recorded: copied, leftOut })
    })()
    db.exec('DETACH mirror')
    return publishedAt
  } catch (error) {
    // What is not about room is about the mirror.
    throw isOfSqlite(error) && seenIn(error)?.fault !== 'full' ? sqliteError(error, mirror) : error
  }
}

export function leftOutOf(recorded: Recorded, configured: readonly string[]): LeftOut[] {
  const all = new Set([...recorded.map(({ organization }) => organization), ...configured])
  const read = new Set(recorded.filter(isRead).map(({ organization }) => organization))
  return [...all.difference(read)].toSorted().map((organization) => ({ organization, reason: 'never-read' }))
}

/** What readers look for: the queries of the README, and those by e-mail, by language, and since a moment. */
const INDEXES: readonly (readonly [table: string, ...columns: string[]])[] = [
  ['customers', 'organization', 'id'],
  ['customers', 'email'],
  ['customers', 'organization', 'language', 'removed_at'],
  ['customers', 'updated_at'],
  ['customers', 'changed_at'],
  ['changes', 'organization', 'id'],
  ['changes', 'organization', 'changed_at', 'change'],
  ['runs', 'organization', 'id'],
  ['customers_history', 'organization', 'id', 'valid_from'],
  ['customers_daily', 'organization', 'day'],
]

/** As in the mirror, for customers_daily. */
const BY_DAY = 'organization, substr(changed_at, 1, 10), change'

function addIndexes(db: Database.Database): void {
  const columnsOf = db
    .prepare<[string], string>(
      `SELECT found.name FROM main.sqlite_schema AS source, pragma_table_info(source.name, 'main') AS found
       WHERE source.name = ? AND source.type = 'table'`,
    )
    .pluck()
  for (const [table, ...columns] of INDEXES) {
    const found = columnsOf.all(table)
    if (!columns.every((column) => found.includes(column))) continue
    const name = `${table}_by_${columns.join('_')}`
    const by = name === 'changes_by_organization_changed_at_change' ? BY_DAY : columns.join(', ')
    const unique = name === 'customers_by_organization_id' ? 'UNIQUE' : ''
    db.exec(`CREATE ${unique} INDEX main.${name} ON ${table} (${by})`)
  }
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

/** A view over tables that every copy has. Another one, `customers_daily`, is copied as a table: DuckDB cannot read the view of SQLite. */
const SAME_VIEW = 'customers_history'

type Settings = Pick<CopySettings, 'organization' | 'withoutPersonalData'> & {
  leftOut: readonly LeftOut[]
}

/** Fills the copy with what is public in the attached mirror. The caller holds the transaction. */
function copyTables(db: Database.Database, settings: Settings): void {
  for (const table of tablesOfCopy(settings)) {
    const names = table.columns.map(({ name }) => quoted(name)).join(', ')
    if (table.name === 'active_customers')
      addView(db, table.name, `SELECT ${names} FROM customers WHERE removed_at IS NULL`)
    else if (table.name === 'freshness') copyFreshness(db, table, settings)
    else if (table.name === SAME_VIEW && !settings.withoutPersonalData) {
      const read = db.prepare<[string], string>('SELECT sql FROM mirror.sqlite_schema WHERE name = ?').pluck()
      db.exec(read.get(SAME_VIEW) ?? '')
    } else copyTable(db, table, settings)
  }
  // The last numbers that were given to changes, so that a reader of the newest ones goes on although these were forgotten since; and
  // the dictionary describes the columns that are in the copy.
  db.exec(`DELETE FROM main.sqlite_sequence;
    INSERT INTO main.sqlite_sequence (name, seq)
      SELECT name, seq FROM mirror.sqlite_sequence WHERE name IN ('changes', '${GIVEN_BY_SERVER}');
    DELETE FROM main.${SHARED} WHERE NOT EXISTS
      (SELECT 1 FROM pragma_table_info(${SHARED}.table_name, 'main') WHERE name = ${SHARED}.column_name)`)
}

/** A public table with the columns that are in the copy, and how the value of each is read. */
type CopiedTable = Omit<PublicTable, 'columns'> & { columns: readonly (PublicColumn & { value: string })[] }

/** The public tables that a copy has. A reject is a record as it came: what of it is personal cannot be known. */
export function tablesOfCopy({ withoutPersonalData }: Pick<Settings, 'withoutPersonalData'>): CopiedTable[] {
  return PUBLIC_TABLES.filter(({ columns, name: table }) => {
    return table === SHARED || columns.some(({ name }) => name === 'organization')
  })
    .filter(({ name }) => !(withoutPersonalData && name === 'rejects'))
    .map((table) => {
      const columns = table.columns.flatMap((column) => {
        const name = `${table.name}.${column.name}`
        const impersonal = withoutPersonalData ? IMPERSONAL[name] : undefined
        if (INTERNAL.has(name) || (withoutPersonalData && column.personal && impersonal === undefined)) return []
        return [{ ...column, value: impersonal ?? quoted(column.name) }]
      })
      return { ...table, columns }
    })
}

/** How columns are read that are in a copy without personal data, though their values may hold some. */
const IMPERSONAL: Readonly<Record<string, string>> = {
  'changes.fields': impersonalFields(),
  // Up to where it quotes the service, which may name a person.
  'runs.error': `iif(instr(error, '"') > 0, substr(error, 1, instr(error, '"')) || '…', error)`,
}

/** `changes.fields` with the fields alone that are not personal; NULL where there are none. */
function impersonalFields(): string {
  const names = publicColumns('customers').filter(({ source, personal }) => source === 'service' && !personal)
  const list = names.map(({ name }) => `'${name}'`).join(', ')
  return `(SELECT NULLIF(json_group_object(key, json(value)), '{}')
    FROM json_each(iif(json_valid(fields), fields, '{}')) WHERE key IN (${list}) AND type = 'array')`
}

function copyTable(
  db: Database.Database,
  { name, columns }: CopiedTable,
  { organization, leftOut }: Settings,
  as = name,
): void {
  const declared = columns.map((column) => {
    return `${quoted(column.name)} ${column.type}${NUMBERS[`${name}.${column.name}`] ?? ''}`
  })
  db.exec(`CREATE TABLE main.${quoted(as)} (${declared.join(', ')})`)
  // The plus keeps the rows in their order: no index is used to find them.
  const [condition, ...parameters] =
    name === SHARED
      ? ['']
      : organization !== undefined
        ? ['WHERE organization = ?', organization]
        : [
            'WHERE +organization NOT IN (SELECT value FROM json_each(?))',
            JSON.stringify(leftOut.map((left) => left.organization)),
          ]
  const values = columns.map(({ value }) => value).join(', ')
  db.prepare(`INSERT INTO main.${quoted(as)} SELECT ${values} FROM mirror.${quoted(name)} ${condition}`).run(parameters)
}

/** Dates and counts as they were when the copy was made; ages as they are when it is read. */
function copyFreshness(db: Database.Database, table: CopiedTable, settings: Settings): void {
  const stored = `${table.name}_as_published`
  copyTable(db, { ...table, columns: table.columns.filter(({ name }) => AGES[name] === undefined) }, settings, stored)
  const columns = table.columns.map(({ name }) => {
    const since = AGES[name]
    if (since === undefined) return quoted(name)
    return `CAST(ROUND((julianday('now') - julianday(${since})) * 86400) AS INTEGER) AS ${quoted(name)}`
  })
  addView(db, table.name, `SELECT ${columns.join(', ')} FROM ${stored}`)
}

function addView(db: Database.Database, name: string, sql: string): void {
  db.exec(`CREATE VIEW main.${quoted(name)} AS ${sql}`)
}
