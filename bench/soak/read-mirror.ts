import Database from 'better-sqlite3'
import { TEXT_FIELDS } from '../../src/customer.ts'

/** A customer as stored. Times are text, as the mirror has them. */
export type StoredCustomer = Record<string, string | null> & {
  organization: string
  id: string
  missing_since: string | null
  removed_at: string | null
}

/** A removal of the feed of changes, in Unix milliseconds; `missingMs` is since when the customer was absent. */
export type Removal = { organization: string; id: string; missingMs: number; atMs: number }

/** A run as stored. Times in Unix milliseconds; `finishedMs` is NaN where it has none. */
export type StoredRun = {
  id: number
  organization: string
  trigger: string
  startedMs: number
  finishedMs: number
  /** When its reading began: earlier than the run where it continues another one. */
  asOfMs: number
  status: string
  proof: string
  certificate: string | null
  error_code: string | null
  error: string | null
  held: number
  /** received - (inserted + updated + unchanged + duplicates + rejected + suppressed) */
  unaccounted: number
  isQuick: boolean
}

/** All runs, by number. */
export function readRuns(file: string): StoredRun[] {
  return read(file, (db) => db.prepare<[], RunColumns>(RUNS).all()).map(
    ({ started_at, finished_at, data_as_of, is_quick, ...run }) => ({
      ...run,
      startedMs: unixMs(started_at),
      finishedMs: finished_at === null ? Number.NaN : unixMs(finished_at),
      asOfMs: unixMs(data_as_of),
      isQuick: is_quick === 1,
    }),
  )
}

const RUNS = `
  SELECT id, organization, "trigger", started_at, finished_at, data_as_of, status, proof, certificate, error_code, error, held,
    received - (inserted + updated + unchanged + duplicates + rejected + suppressed) AS unaccounted,
    trusted_pages IS NOT NULL AS is_quick
  FROM runs ORDER BY id`

type RunColumns = Omit<StoredRun, 'startedMs' | 'finishedMs' | 'asOfMs' | 'isQuick'> & {
  started_at: string
  finished_at: string | null
  data_as_of: string
  is_quick: number
}

export function readCustomers(file: string): StoredCustomer[] {
  const columns = ['organization', 'id', ...TEXT_FIELDS, 'missing_since', 'removed_at'].join(', ')
  return read(file, (db) => db.prepare<[], StoredCustomer>(`SELECT ${columns} FROM customers`).all())
}

export function readRemovals(file: string): Removal[] {
  type Columns = { organization: string; id: string; missing_since: string | null; at: string }
  const statement = "SELECT organization, id, missing_since, at FROM changes WHERE change = 'removed' ORDER BY seq"
  return read(file, (db) => db.prepare<[], Columns>(statement).all()).map(({ missing_since, at, ...same }) => ({
    ...same,
    missingMs: unixMs(missing_since ?? at),
    atMs: unixMs(at),
  }))
}

/** What SQLite finds wrong with the file. */
export function readDamage(file: string): string[] {
  const found = read(file, (db) => db.prepare<[], string>('PRAGMA integrity_check').pluck().all())
  return found.filter((line) => line !== 'ok')
}

function read<Result>(file: string, with_: (db: Database.Database) => Result): Result {
  const db = new Database(file, { readonly: true, fileMustExist: true })
  try {
    return with_(db)
  } finally {
    db.close()
  }
}

function unixMs(time: string): number {
  return Date.parse(`${time.replace(' ', 'T')}Z`)
}
