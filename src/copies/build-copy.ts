import type Database from 'better-sqlite3'
import { isOfSqlite, seenIn } from '../errors/faults.ts'
import { sqliteError } from '../store/port/sqlite-errors.ts'
import { connect } from '../store/sqlite/connect.ts'
import { attachReadOnly } from '../store/sqlite/read-only-file.ts'
import { copyFault } from './copy-error.ts'
import { digestRows, fillManifest, organizationsInManifest } from './copy-manifest.ts'
import { type CopySettings, copyTables } from './copy-tables.ts'
import { COPY_APPLICATION_ID } from './file-kind.ts'
import { writeWithoutWaiting } from './open-to-read.ts'
import { isRead, recordedIn, type Recorded } from './organizations.ts'
import type { LeftOut, PublishedCopy } from './publish-plan.ts'

export type BuiltCopy = Pick<PublishedCopy, 'publishedAt' | 'organizations'> & { leftOut: LeftOut[] }

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
    requireSound(db, path)
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
      return { leftOut, ...fillManifest(db, { recorded: copied, leftOut }) }
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

function requireSound(db: Database.Database, path: string): void {
  const found = db.prepare<[], string>('PRAGMA quick_check(1)').pluck().get()
  if (found === 'ok') return
  throw copyFault(path, { fault: 'full', said: `the new copy was damaged while it was written (${found})` })
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
