import type { Run } from '../../../run.ts'
import type { LaterOrder } from '../../../list/later-order.ts'
import { EMPTY_LIST, type ListAsRead, type ListColumns, type ListedWindow } from '../../../list/list-as-read.ts'
import { RowSet } from '../../../list/row-set.ts'
import {
  changedChunks,
  changedWindows,
  chunkCount,
  columnsIn,
  listIn,
  READER,
  type Change,
  type StoredChunk,
  type StoredList,
} from '../../sql/list-chunks.ts'
import type { Connection } from '../opening/database.ts'
import { IS_QUICK } from '../../sql/run-conditions.ts'
import { statement } from '../statement.ts'

/** The list of an organization as its last complete run read it; empty if this program has none to rely on. */
export function loadList(db: Connection, organization: string): ListAsRead {
  const list = statement<[string, string], StoredList>(
    db,
    'SELECT customers, warnings, order_facts, later_order FROM lists WHERE organization = ? AND reader = ?',
  ).get(organization, READER)
  if (list === undefined) return EMPTY_LIST
  const chunks = statement<[string], StoredChunk>(db, 'SELECT * FROM list_chunks WHERE organization = ? ORDER BY chunk')
  const columns = columnsIn(chunks.iterate(organization), list.customers)
  // A damaged list is ignored.
  if (columns === undefined) return EMPTY_LIST
  return listIn(list, columns, loadWindows(db, organization))
}

function loadWindows(db: Connection, organization: string): ListedWindow[] {
  return statement<[string], ListedWindow>(
    db,
    'SELECT place, count, digest, outline FROM list_windows WHERE organization = ? ORDER BY number',
  ).all(organization)
}

/** Stores the list of a complete run, in place of the one it began with; unchanged parts are not written. */
export function storeList(db: Connection, run: ListOfRun, list: ListAsRead): void {
  const { organization, id } = run
  const { columns, windows, warnings, order } = list
  if (columns !== run.list.columns) storeChunks(db, organization, { before: run.list.columns, after: columns })
  if (windows !== run.list.windows) storeWindows(db, organization, { before: run.list.windows, after: windows })
  statement(
    db,
    `INSERT INTO lists (organization, run_id, reader, customers, warnings, order_facts) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (organization) DO UPDATE SET run_id = excluded.run_id, reader = excluded.reader,
       customers = excluded.customers, warnings = excluded.warnings, order_facts = excluded.order_facts,
       later_order = NULL`,
  ).run(organization, id, READER, columns.rowIds.length, JSON.stringify(warnings), JSON.stringify(order))
  // Edits since the run began are for the next run.
  statement(db, 'DELETE FROM edited_customers WHERE organization = ? AND edit <= ?').run(organization, run.lastEdit)
}

/** Stores what a quick run found out about the order of the list since it was read. */
export function storeLaterOrder(db: Connection, organization: string, later: LaterOrder): void {
  statement(db, 'UPDATE lists SET later_order = ? WHERE organization = ? AND reader = ?').run(
    JSON.stringify(later),
    organization,
    READER,
  )
}

type ListOfRun = Pick<Run, 'id' | 'organization' | 'list' | 'lastEdit'>

function storeChunks(db: Connection, organization: string, change: Change<ListColumns>): void {
  const store = statement(
    db,
    `REPLACE INTO list_chunks (organization, chunk, row_ids, fingerprints, id_fingerprints, comparisons, oddities)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  for (const { chunk, columns } of changedChunks(change)) store.run(organization, chunk, ...columns)
  statement(db, 'DELETE FROM list_chunks WHERE organization = ? AND chunk >= ?').run(
    organization,
    chunkCount(change.after),
  )
}

function storeWindows(db: Connection, organization: string, change: Change<readonly ListedWindow[]>): void {
  const store = statement(
    db,
    'REPLACE INTO list_windows (organization, number, place, count, digest, outline) VALUES (?, ?, ?, ?, ?, ?)',
  )
  for (const { number, place, count, digest, outline } of changedWindows(change))
    store.run(organization, number, place, count, digest, outline)
  statement(db, 'DELETE FROM list_windows WHERE organization = ? AND number >= ?').run(
    organization,
    change.after.length,
  )
}

/** Deletes the list of an organization: its next run reads every record again. */
export function forgetList(db: Connection, organization: string): void {
  statement(db, 'DELETE FROM lists WHERE organization = ?').run(organization)
}

/** The number of the last edit by hand; 0 before the first. */
export function lastEdit(db: Connection): number {
  return statement<[], number>(db, 'SELECT MAX(edit) FROM edited_customers').pluck().get() ?? 0
}

/**
 * Customers that may differ from the list: written since it was read, by a run or by hand, or no longer listed.
 */
export function doubtedRows(db: Connection, organization: string): RowSet {
  const doubted = new RowSet()
  const add = (sql: string, ...parameters: unknown[]) => {
    for (const rowId of statement<unknown[], number>(db, sql)
      .pluck()
      .iterate(...parameters))
      doubted.add(rowId)
  }
  const readBy = statement<[string], number>(db, 'SELECT run_id FROM lists WHERE organization = ?').pluck()
  const runId = readBy.get(organization) ?? 0
  const hasWritten = statement(
    db,
    'SELECT 1 FROM runs WHERE organization = ? AND id > ? AND inserted + updated > 0 LIMIT 1',
  )
  if (runId > 0 && hasWritten.get(organization, runId) !== undefined) {
    add(
      `SELECT row_id FROM ${tableOf(db, organization)} WHERE organization = ? AND last_run_id > ?`,
      organization,
      runId,
    )
  }
  add('SELECT row_id FROM edited_customers WHERE organization = ?', organization)
  add(
    `SELECT row_id FROM customers
     WHERE organization = ? AND (missing_since IS NOT NULL OR removed_at IS NOT NULL)`,
    organization,
  )
  return doubted
}

/** The table, to read every customer of the organization. Reading most of a table is three times as fast without an index. */
function tableOf(db: Connection, organization: string): string {
  const isMost = statement<[string], number>(
    db,
    'SELECT 10 * customers > (SELECT MAX(row_id) FROM customers) FROM lists WHERE organization = ?',
  ).pluck()
  return isMost.get(organization) === 1 ? 'customers NOT INDEXED' : 'customers'
}

/** Customers that quick runs found changed in the service since the list was read, and that were not edited by hand. */
export function changedRows(db: Connection, organization: string): RowSet {
  const hasWritten = statement<[Record<string, unknown>], number>(
    db,
    `SELECT 1 FROM runs WHERE organization = @organization AND ${IS_QUICK} AND updated > 0
       AND id > (SELECT run_id FROM lists WHERE organization = @organization) LIMIT 1`,
  )
  if (hasWritten.get({ organization }) === undefined) return new RowSet()
  const rows = statement<[Record<string, unknown>], number>(
    db,
    `SELECT row_id FROM ${tableOf(db, organization)} WHERE organization = @organization
       AND last_run_id IN (
         SELECT id FROM runs WHERE organization = @organization AND ${IS_QUICK} AND updated > 0
           AND id > (SELECT run_id FROM lists WHERE organization = @organization))
       AND EXISTS (
         SELECT 1 FROM changes WHERE changes.organization = @organization AND changes.id = customers.id
           AND run_id = last_run_id AND change = 'changed')
       AND row_id NOT IN (SELECT row_id FROM edited_customers WHERE organization = @organization)`,
  ).pluck()
  return RowSet.of(rows.iterate({ organization }))
}
