import { TEXT_FIELDS } from '../../src/model/customer.ts'
import { isPostgres } from '../../src/address/mirror-address.ts'
import { read } from '../read-mirror.ts'

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
  isPartial: boolean
}

/** All runs, by number. */
export async function readRuns(mirror: string): Promise<StoredRun[]> {
  const rows = await read<RunColumns>(mirror, RUNS)
  return rows.map(({ started_at, finished_at, read_as_of, is_quick, ...run }) => ({
    ...run,
    startedMs: unixMs(started_at),
    finishedMs: finished_at === null ? Number.NaN : unixMs(finished_at),
    asOfMs: unixMs(read_as_of),
    isPartial: is_quick === 1,
  }))
}

const RUNS = `
  SELECT id, organization, "trigger", started_at, finished_at, read_as_of, status, proof, certificate, error_code, error, held,
    received - (inserted + updated + unchanged + duplicates + rejected + suppressed) AS unaccounted,
    CASE WHEN trusted_pages IS NULL THEN 0 ELSE 1 END AS is_quick
  FROM runs ORDER BY id`

type RunColumns = Omit<StoredRun, 'startedMs' | 'finishedMs' | 'asOfMs' | 'isPartial'> & {
  started_at: string
  finished_at: string | null
  read_as_of: string
  is_quick: number
}

export async function readCustomers(mirror: string): Promise<StoredCustomer[]> {
  const columns = ['organization', 'id', ...TEXT_FIELDS, 'missing_since', 'removed_at'].join(', ')
  return read<StoredCustomer>(mirror, `SELECT ${columns} FROM customers`)
}

export async function readRemovals(mirror: string): Promise<Removal[]> {
  type Columns = { organization: string; id: string; missing_since: string | null; changed_at: string }
  const statement =
    "SELECT organization, id, missing_since, changed_at FROM changes WHERE change = 'removed' ORDER BY seq"
  const rows = await read<Columns>(mirror, statement)
  return rows.map(({ missing_since, changed_at: at, ...same }) => ({
    ...same,
    missingMs: unixMs(missing_since ?? at),
    atMs: unixMs(at),
  }))
}

/** What SQLite finds wrong with the file. A server checks what it reads by itself. */
export async function readDamage(mirror: string): Promise<string[]> {
  if (isPostgres(mirror)) return []
  const found = await read<{ integrity_check: string }>(mirror, 'PRAGMA integrity_check')
  return found.map((row) => row.integrity_check).filter((line) => line !== 'ok')
}

function unixMs(time: string): number {
  return Date.parse(`${time.replace(' ', 'T')}Z`)
}
