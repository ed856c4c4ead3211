import type { Customer } from '../../../customer.ts'
import type { Run } from '../../../run.ts'
import type { Known, Stored } from '../../pages/decide-pages.ts'
import type { Connection } from '../opening/database.ts'
import { initialIdsOf } from './id-index.ts'
import { WRITTEN_FIELDS } from './insertion.ts'
import { statement } from '../statement.ts'

type Found = Customer & { row_id: number; missing_since: string | null; removed_at: string | null }

const FIND = `SELECT row_id, id, ${WRITTEN_FIELDS.join(', ')}, missing_since, removed_at FROM customers`
const FIND_BY_ID = `${FIND} WHERE organization = ? AND id IN (SELECT value FROM json_each(?))`
// With +, by the row whatever indexes there are: SQLite would take one of the organization, and read all of its customers.
export const FIND_BY_ROW = `${FIND} WHERE +organization = ? AND row_id IN (SELECT value FROM json_each(?))`

/**
 * The customers of the organization with these ids, and the highest row number. That of a row which was deleted by hand is not given to
 * another customer before a whole list was read: the list before and the windows of a scan may still refer to it.
 */
export function findStored(db: Connection, run: Run, ids: ReadonlySet<string>): Stored {
  const customers = new Map<string, Known>()
  if (ids.size === 0) return { customers, lastRowId: 0 }
  for (const row of rowsOf(db, run, ids)) customers.set(row.id, knownOf(row))
  return { customers, lastRowId: statement<[string], number>(db, LAST_ROW).pluck().get(run.organization) ?? 0 }
}

function rowsOf(db: Connection, run: Run, ids: ReadonlySet<string>): Found[] {
  const initialIds = initialIdsOf(run)
  if (initialIds === undefined) return rowsAmong(db, run, FIND_BY_ID, [...ids])
  const rowIds: number[] = []
  for (const id of ids) initialIds.addRowsOf(id, rowIds)
  return rowIds.length === 0 ? [] : rowsAmong(db, run, FIND_BY_ROW, rowIds)
}

/** One query for all of them: a look-up for each row costs more than twice as much. */
function rowsAmong(db: Connection, { organization }: Run, sql: string, among: readonly (string | number)[]): Found[] {
  return statement<[string, string], Found>(db, sql).all(organization, JSON.stringify(among))
}

function knownOf(row: Found): Known {
  return {
    rowId: row.row_id,
    customer: row,
    isMissing: row.missing_since !== null,
    isRemoved: row.removed_at !== null,
  }
}

const LAST_ROW = `SELECT max(
  coalesce((SELECT MAX(row_id) FROM customers), 0),
  coalesce((SELECT MAX(row_id) FROM edited_customers WHERE organization = ?), 0))`
