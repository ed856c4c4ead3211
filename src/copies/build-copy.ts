import { createHash } from 'node:crypto'
import { lstatSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { ifReadable, isOlderCopy, nameToKeep } from './older-files.ts'
import { idsOf, isRead, type ReadOrganization, type Recorded, recordedIn } from './organizations.ts'
import type { Published, PublishedCopy, PublishPlan } from './publish-plan.ts'
import { type CopyTarget, copyTargets } from './target-place.ts'
import { isOfSqlite, seenIn } from '../errors/faults.ts'
import { organizationColumn, orNull, PUBLIC_TABLES, publicColumns, publicTable, time } from '../model/public-tables.ts'
import type { PublicColumn, PublicTable } from '../model/public-tables.ts'
import { quoted } from '../store/port/sql.ts'
import { sqliteError } from '../store/port/sqlite-errors.ts'
import { dictionary } from '../store/schema/schema.ts'
import { connect, type Connection } from '../store/sqlite/connect.ts'
import { COPY_APPLICATION_ID, hasTable, nowIn, numberIn, writeWithoutWaiting } from '../store/sqlite/open-to-read.ts'

type CopySettings = Pick<PublishPlan, 'mirror' | 'organizations' | 'withoutPersonalData'> &
  Pick<CopyTarget, 'organization'>

/** Fills the empty file at `path` with one state of the mirror, without a WAL or anything beside it. Memory is bounded. */
export function buildCopy(path: string, settings: CopySettings) {
  // Made anew here, it would have another group and another mode.
  const db = connect(path, { fileMustExist: true })
  try {
    writeWithoutWaiting(db)
    db.pragma('main.cache_size = -16000')
    db.pragma(`main.application_id = ${COPY_APPLICATION_ID}`)
    // Its transaction ends before indexes and digests are made: a long one holds up the WAL of the mirror.
    const state = copyState(db, settings)
    addIndexes(db, tablesOfCopy(settings))
    const organizations = db.transaction(() => fillManifest(db, state))()
    db.exec('ANALYZE')
    return { publishedAt: state.publishedAt, organizations }
  } finally {
    db.close()
  }
}

function copyState(db: Connection, { mirror, organization, ...settings }: CopySettings) {
  try {
    db.prepare('ATTACH ? AS mirror').run(mirror)
    const state = db.transaction(() => {
      // Names of tables are those of the mirror as long as the copy has none.
      const all = recordedIn(db, { isCopy: false })
      const recorded = all.filter((one) => (organization ?? one.organization) === one.organization)
      const selected = { organizations: idsOf(recorded.filter(isRead)), isOfAll: organization === undefined }
      copyTables(db, { ...settings, ...selected })
      const leftOut = organization === undefined ? leftOutOf(all, settings.organizations) : []
      return { recorded, leftOut, publishedAt: nowIn(db) }
    })()
    db.exec('DETACH mirror')
    return state
  } catch (error) {
    // What is not about room is about the mirror.
    throw isOfSqlite(error) && seenIn(error)?.fault !== 'full' ? sqliteError(error, mirror) : error
  }
}

export function leftOutOf(recorded: Recorded, configured: readonly string[]): Published['leftOut'] {
  const all = new Set([...idsOf(recorded), ...configured])
  return [...all.difference(new Set(idsOf(recorded.filter(isRead))))]
    .toSorted()
    .map((organization) => ({ organization, reason: 'never-read' }))
}

/** What readers look for: the queries of the README, and those by e-mail, by language, and since a moment. */
const INDEXES: Readonly<Record<string, readonly string[]>> = {
  customers: ['organization, id', 'email', 'organization, language, removed_at', 'updated_at', 'changed_at'],
  changes: ['organization, id', 'organization, changed_at, change'],
  runs: ['organization, id'],
  rejects: ['organization'],
  customers_history: ['organization, id, valid_from'],
  customers_daily: ['organization, day'],
}

function addIndexes(db: Connection, tables: readonly CopiedTable[]): void {
  const isTable = db.prepare(`SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ?`)
  for (const { name, columns } of tables.filter((table) => isTable.get(table.name) !== undefined))
    for (const index of INDEXES[name] ?? []) {
      const names = index.split(', ')
      if (!names.every((each) => columns.some((column) => column.name === each))) continue
      const kind = name === 'customers' && names.includes('id') ? 'UNIQUE INDEX' : 'INDEX'
      db.exec(`CREATE ${kind} main.${name}_by_${names.join('_')} ON ${name} (${index})`)
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
const AGES: Readonly<Record<string, string>> = { read_age_seconds: 'read_as_of', proven_age_seconds: 'proven_as_of' }

/** It holds nothing about customers, and is in every copy. */
const SHARED = 'dictionary'

/** Views over tables that every copy has. Another one, `customers_daily`, is copied as a table: DuckDB cannot read the view of SQLite. */
const SAME_VIEWS: ReadonlySet<string> = new Set(['customers_history', 'customers_normalized'])

/** The organizations whose rows are copied, which are all that were read to their end, or one. */
type Settings = { organizations: readonly string[]; isOfAll: boolean; withoutPersonalData: boolean }

/** Fills the copy with what is public in the attached mirror. The caller holds the transaction. */
function copyTables(db: Connection, settings: Settings): void {
  const view = db.prepare<[string], string>('SELECT sql FROM mirror.sqlite_schema WHERE name = ?').pluck()
  for (const table of tablesOfCopy(settings)) {
    const { name, columns } = table
    const names = columns.map((column) => quoted(column.name)).join(', ')
    if (name === 'active_customers')
      db.exec(`CREATE VIEW main.${name} AS SELECT ${names} FROM customers WHERE removed_at IS NULL`)
    else if (name === 'freshness') copyFreshness(db, table, settings)
    else if (SAME_VIEWS.has(name) && !settings.withoutPersonalData) db.exec(view.get(name) ?? '')
    else copyTable(db, table, settings)
  }
  // A reader of the newest changes goes on although these were forgotten since. The dictionary has the columns that are in the copy.
  db.exec(`DELETE FROM main.sqlite_sequence;
    INSERT INTO main.sqlite_sequence (name, seq)
      SELECT name, seq FROM mirror.sqlite_sequence WHERE name = 'changes';
    DELETE FROM main.${SHARED} WHERE NOT EXISTS
      (SELECT 1 FROM pragma_table_info(${SHARED}.table_name, 'main') WHERE name = ${SHARED}.column_name)`)
}

/** A public table with the columns that are in the copy, and how the value of each is read. */
type CopiedTable = Omit<PublicTable, 'columns'> & { columns: readonly (PublicColumn & { value: string })[] }

/** The tables that a copy without personal data lacks. A reject is a record as it came: what of it is personal cannot be known. */
const PERSONAL_TABLES: ReadonlySet<string> = new Set(['rejects', 'customers_normalized'])

export function tablesOfCopy({ withoutPersonalData }: Pick<Settings, 'withoutPersonalData'>): CopiedTable[] {
  const tables = PUBLIC_TABLES.filter(({ name }) => !(withoutPersonalData && PERSONAL_TABLES.has(name)))
  return tables.map((table) => {
    const columns = table.columns.flatMap((column) => {
      const name = `${table.name}.${column.name}`
      const impersonal = withoutPersonalData ? IMPERSONAL[name] : undefined
      const isLeftOut = INTERNAL.has(name) || (withoutPersonalData && column.personal && impersonal === undefined)
      return isLeftOut ? [] : [{ ...column, value: impersonal ?? quoted(column.name) }]
    })
    return { ...table, columns }
  })
}

const IMPERSONAL_FIELDS = publicColumns('customers').filter(({ source, personal }) => source === 'service' && !personal)

/** How columns are read that are in a copy without personal data, though their values may hold some. */
const IMPERSONAL: Readonly<Record<string, string>> = {
  // With the fields alone that are not personal; NULL where there are none.
  'changes.fields': `(SELECT NULLIF(json_group_object(key, json(value)), '{}')
    FROM json_each(iif(json_valid(fields), fields, '{}'))
    WHERE key IN (${IMPERSONAL_FIELDS.map(({ name }) => `'${name}'`).join(', ')}) AND type = 'array')`,
  // Up to where it quotes the service, which may name a person.
  'runs.error': `iif(instr(error, '"') > 0, substr(error, 1, instr(error, '"')) || '…', error)`,
}

function copyTable(db: Connection, { name, columns }: CopiedTable, { organizations, isOfAll }: Settings, as = name) {
  const declared = columns.map((column) => {
    return `${quoted(column.name)} ${column.type}${NUMBERS[`${name}.${column.name}`] ?? ''}`
  })
  db.exec(`CREATE TABLE main.${quoted(as)} (${declared.join(', ')})`)
  // The plus keeps the rows in their order: no index is used to find them.
  const isCopied = `${isOfAll ? '+' : ''}organization IN (SELECT value FROM json_each(?))`
  const values = columns.map(({ value }) => value).join(', ')
  const copy = `INSERT INTO main.${quoted(as)} SELECT ${values} FROM mirror.${quoted(name)}`
  if (name === SHARED) db.exec(copy)
  else db.prepare(`${copy} WHERE ${isCopied}`).run(JSON.stringify(organizations))
}

/** Dates and counts as they were when the copy was made; ages as they are when it is read. */
function copyFreshness(db: Connection, table: CopiedTable, settings: Settings): void {
  const stored = `${table.name}_as_published`
  copyTable(db, { ...table, columns: table.columns.filter(({ name }) => AGES[name] === undefined) }, settings, stored)
  const columns = table.columns.map(({ name }) => {
    const since = AGES[name]
    if (since === undefined) return quoted(name)
    return `CAST(ROUND((julianday('now') - julianday(${since})) * 86400) AS INTEGER) AS ${quoted(name)}`
  })
  db.exec(`CREATE VIEW main.${table.name} AS SELECT ${columns.join(', ')} FROM ${stored}`)
}

/** Adds the table `manifest` to a copy that has all others: what it holds of each organization, and those that it leaves out. */
function fillManifest(db: Connection, { recorded, leftOut, publishedAt }: ReturnType<typeof copyState>) {
  const declared = MANIFEST.columns.map(({ name, type, nullable }) => `${name} ${type}${nullable ? '' : ' NOT NULL'}`)
  db.exec(`CREATE TABLE manifest (${declared.join(', ')}, PRIMARY KEY (organization))`)
  const leave = db.prepare(`INSERT INTO manifest (organization, published_at, left_out, last_run_id, last_status)
    VALUES (@organization, @publishedAt, @reason, @runId, @status)`)
  for (const left of leftOut) {
    const run = recorded.find(({ organization }) => organization === left.organization)
    leave.run({ runId: null, status: null, ...run, ...left, publishedAt })
  }
  const columns = db.prepare<[], string>(`SELECT name FROM pragma_table_info('customers')`).pluck().all()
  // A reader can compare: sqlite3 customers.db "$query" | sha256sum, where the query is that in `sha256_of`.
  const linesOf = (organization: '?' | '%Q') =>
    `SELECT json_array(${columns.map(quoted).join(', ')}) FROM customers WHERE organization = ${organization} ORDER BY id`
  const lines = db.prepare<[string], string>(linesOf('?')).pluck()
  const of = (table: string, value = 'COUNT(*)') => `(SELECT ${value} FROM ${table} WHERE organization = @organization)`
  // The last change may be among those that retention has deleted.
  const lastSeq = `max(coalesce(${of('changes', 'MAX(seq)')}, 0), coalesce(${of('horizons', 'feed_seq')}, 0))`
  const insert = db.prepare(`
    INSERT INTO manifest (organization, published_at, run_id, proof, read_as_of, proven_as_of, last_run_id, last_status, forgotten,
      customers, active_customers, changes, runs, rejects, last_seq, sha256, sha256_of)
    VALUES (@organization, @publishedAt, @run, @proof, @readAsOf, @provenAsOf, @runId, @status, @forgotten,
      ${['customers', 'active_customers', 'changes', 'runs'].map((table) => of(table)).join(', ')},
      ${hasTable(db, 'rejects') ? of('rejects') : 0}, ${lastSeq}, @sha256, printf('${linesOf('%Q')}', @organization))`)
  for (const one of recorded.filter(isRead)) {
    const digest = createHash('sha256')
    for (const text of lines.iterate(one.organization)) digest.update(`${text}\n`)
    insert.run({ ...one, publishedAt, sha256: digest.digest('hex') })
  }
  db.exec(dictionary('sqlite', [MANIFEST]))
  const published = `SELECT organization, run_id AS run, proof, read_as_of AS readAsOf, proven_as_of AS provenAsOf, customers,
      active_customers AS active, changes, last_seq AS lastSeq, sha256
    FROM manifest WHERE left_out IS NULL ORDER BY organization`
  return db.prepare<[], PublishedCopy['organizations'][number]>(published).all()
}

/** The table `manifest`, which only a copy has. Rows of an organization that is left out are not counted. */
export const MANIFEST = publicTable(
  'manifest',
  'what a copy for readers holds of each organization; the mirror itself has no such table',
  {
    organization: organizationColumn,
    published_at: time('when the copy was made, UTC'),
    left_out: orNull.text('why its rows are not in the copy: never-read; NULL when they are'),
    run_id: orNull.number('last run that read the list to its end, as runs.id; NULL if none'),
    proof: orNull.text('what that run proved: proven, settled or unproven; NULL if none'),
    read_as_of: orNull.time('start of that run, UTC; NULL if none'),
    proven_as_of: orNull.time('start of the last run whose scan is proven or settled, UTC; NULL if none'),
    last_run_id: orNull.number('latest run, but for partial runs that found nothing, as runs.id; NULL if none'),
    last_status: orNull.text('status of that run, running if it was under way; NULL if none'),
    customers: orNull.number('rows of customers; NULL when left out'),
    active_customers: orNull.number('rows of active_customers; NULL when left out'),
    changes: orNull.number('rows of changes; NULL when left out'),
    runs: orNull.number('rows of runs; NULL when left out'),
    rejects: orNull.number('rows of rejects, 0 in a copy without personal data; NULL when left out'),
    last_seq: orNull.number(
      'highest number that a change of it had, as changes.seq; 0 if it never had one, NULL when left out',
    ),
    forgotten: orNull.number('number of the customer who was forgotten last, 0 if none was; NULL when left out'),
    sha256: orNull.text('SHA-256 of the lines that the query in sha256_of prints; NULL when left out'),
    sha256_of: orNull.text('query that prints every customer of the organization as a JSON array; NULL when left out'),
  },
)

/** The organizations that were read to their end, in no order: a server has one of its own. */
function byId(recorded: Recorded): ReadonlyMap<string, ReadOrganization> {
  return new Map(recorded.filter(isRead).map((one) => [one.organization, one]))
}

const HAS_EMAIL = `SELECT COUNT(*) FROM pragma_table_info('customers') WHERE name = 'email'`

/** What a copy says of itself, and what the mirror recorded when it was made; undefined where it cannot be read. */
function readCopy(file: string) {
  return ifReadable(file, (db) => ({
    publishedAt: db.prepare<[], string>('SELECT published_at FROM manifest').pluck().get(),
    withoutPersonalData: numberIn(db, HAS_EMAIL) === 0,
    recorded: byId(recordedIn(db)),
  }))
}

/** The name under which the copy is kept that the one at `newPath` replaces, by the time of its publish; undefined where it is not. */
export function nameOfOlderCopy(file: string, newPath: string): string | undefined {
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined || !isOlderCopy(file)) return undefined
  const [before, now] = [readCopy(file), readCopy(newPath)]
  if (before !== undefined && now !== undefined) {
    const [earlier, later] = [before.recorded, now.recorded]
    const holdsForgotten = earlier
      .values()
      .some((one) => (later.get(one.organization)?.forgotten ?? Infinity) > one.forgotten)
    const isOfSameRuns = later.values().every((one) => one.run === earlier.get(one.organization)?.run)
    // After partial runs alone it is not kept either: they would push the copies of nights out.
    if (holdsForgotten || (isOfSameRuns && !isDeepStrictEqual(earlier, later))) return undefined
  }
  return nameToKeep(file, before?.publishedAt)
}

/** The copies that differ from what the mirror records now, are missing or unreadable, or of the other kind as to personal data. */
export function staleCopies(plan: PublishPlan, recorded: Recorded): string[] {
  const names = [...byId(recorded).keys()]
  const stale = copyTargets(plan, names).filter(({ file, organization }) => {
    const wanted = recorded.filter((one) => organization === undefined || one.organization === organization)
    const copy = readCopy(file)
    const isOfKind = copy?.withoutPersonalData === plan.withoutPersonalData
    return !isOfKind || !isDeepStrictEqual(copy.recorded, byId(wanted))
  })
  return stale.map(({ file }) => file)
}
