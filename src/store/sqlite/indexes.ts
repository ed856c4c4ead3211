import Database from 'better-sqlite3'
import { MirrorUnusable } from '../../errors/errors.ts'
import type { Run } from '../../model/run.ts'
import type { PagesDecided } from '../pages/decide-pages.ts'
import { InitialIds } from '../pages/initial-ids.ts'
import { CACHE_KB } from './open-database.ts'
import { type Connection, statement } from './connect.ts'

/*
 * Ids are random, so each transaction of an initial sync would write nearly all of their index again. The first organization of a mirror
 * is read without it: the run itself knows which ids it inserted, and no other one is there. It is created from sorted keys when the run
 * is over, or when another one begins, whatever happened to the first, or when another program writes to the file.
 */
const [ID_INDEX, ON] = ['customers_by_id', 'customers (organization, id)']

/** Whether customers can be found by their ids only by reading all of them. */
export function lacksIdIndex(db: Connection): boolean {
  return statement(db, `SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?`).get(ID_INDEX) === undefined
}

/** Creates the index of ids if it is missing. The caller holds the transaction. Throws MirrorUnusable where a customer has two rows. */
export function createIdIndex(db: Connection): void {
  if (!lacksIdIndex(db)) return
  try {
    db.exec(`CREATE UNIQUE INDEX IF NOT EXISTS ${ID_INDEX} ON ${ON}`)
  } catch (error) {
    if (!(error instanceof Database.SqliteError) || error.code !== 'SQLITE_CONSTRAINT_UNIQUE') throw error
    throw new MirrorUnusable(
      `${db.name}: has two rows of one customer, which only a change by hand can have left. This finds them: SELECT organization, id FROM ` +
        'customers GROUP BY organization, id HAVING COUNT(*) > 1. Delete what was added, and run the command again.',
      { code: 'damaged' },
      { cause: error },
    )
  }
}

/** Rows are written one after the other, and none is looked up. */
const CACHE_WITHOUT_INDEX_KB = 2000

/** What such a run knows, and the version of the file: it changes when another connection writes. */
const idsOfRuns = new WeakMap<Run, { ids: InitialIds; version: unknown }>()

/** Whether a run that begins is alone in a mirror without customers. */
export function isFirstOfAll(db: Connection, organization: string): boolean {
  const other = statement(db, 'SELECT 1 FROM customers UNION ALL SELECT 1 FROM leases WHERE organization <> ? LIMIT 1')
  return other.get(organization) === undefined
}

/** Has the first run of a mirror read without the index of ids. The caller holds the transaction. */
export function readWithoutIdIndex(db: Connection, run: Run): void {
  db.exec(`DROP INDEX IF EXISTS ${ID_INDEX}`)
  db.pragma(`cache_size = -${CACHE_WITHOUT_INDEX_KB}`)
  idsOfRuns.set(run, { ids: new InitialIds(run.fingerprint), version: dataVersion(db) })
}

/** The ids that a run inserted; undefined if the index knows them. */
export function initialIdsOf(run: Run): InitialIds | undefined {
  return idsOfRuns.get(run)?.ids
}

/** Has a run without the index know the customers that it inserts, also where the transaction fails later. */
export function rememberIds(run: Run, inserted: PagesDecided['inserted']): void {
  const ids = initialIdsOf(run)
  if (ids !== undefined) for (const { rowId, customer } of inserted) ids.add(customer.id, rowId)
}

/** Has a run go by the index of ids once another run created it, or another program wrote to the file. The caller holds the transaction. */
export function goByIdIndex(db: Connection, run: Run): void {
  const known = idsOfRuns.get(run)
  if (known !== undefined && known.version === dataVersion(db) && lacksIdIndex(db)) return
  // It may have been created in a transaction that failed later.
  createIdIndex(db)
  forgetInitialIds(db, run)
}

function dataVersion(db: Connection): unknown {
  return db.pragma('data_version', { simple: true })
}

/** The run goes by the index of ids from here on, or saves nothing more. */
export function forgetInitialIds(db: Connection, run: Run): void {
  if (idsOfRuns.delete(run)) db.pragma(`cache_size = -${CACHE_KB}`)
}
