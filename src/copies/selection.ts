import { publicColumns } from '../model/public-tables.ts'
import { READ_TO_END } from '../store/schema/views.ts'
import type { Connection } from '../store/sqlite/connect.ts'
import type { ExportColumn, ExportFacts } from './format.ts'
import { numberIn } from './open-to-read.ts'

export type Selection = {
  /** Only the rows of these organizations; empty for those of all. */
  organizations: readonly string[]
  includeRemoved?: boolean | undefined
  /** What changed after this seq, in place of customers. */
  changesSince?: number | undefined
  /** Leave out what the dictionary calls personal. */
  withoutPersonalData?: boolean | undefined
}

export type SelectedRows = { columns: ExportColumn[]; sql: string; parameters: (string | number)[] }

export function tableOf({ includeRemoved, changesSince }: Selection): ExportFacts['table'] {
  if (changesSince !== undefined) return 'changes'
  return includeRemoved === true ? 'customers' : 'active_customers'
}

/**
 * The selected rows of these organizations, with every public column that the file has. A partition is of one organization, which is not in its
 * rows, and they are found by an index; otherwise a plus keeps rows in the order in which they lie in the file, and no index is used.
 */
export function selectRows(
  db: Connection,
  selection: Selection,
  organizations: readonly string[],
  { isPartition }: { isPartition: boolean },
): SelectedRows {
  const { changesSince, withoutPersonalData = false } = selection
  const table = tableOf(selection)
  const columnsOf = (name: string) => columnsIn(db, name, { isPartition, withoutPersonalData })
  if (changesSince !== undefined) return selectFeed(db, changesSince, { organizations, columnsOf })
  const columns = columnsOf(table)
  const isSelected = `${isPartition ? '' : '+'}selected.organization IN (SELECT value FROM json_each(?))`
  const select = `SELECT ${columns.map(({ name }) => `selected."${name}"`).join(', ')} FROM`
  const isActive = table === 'active_customers' ? 'AND removed_at IS NULL' : ''
  return {
    columns,
    sql: `${select} customers AS selected WHERE ${isSelected} ${isActive}`,
    parameters: [JSON.stringify(organizations)],
  }
}

/** The public columns of a table, those that the file has. Numbers of rows within a file say nothing elsewhere. */
function columnsIn(
  db: Connection,
  table: string,
  { isPartition, withoutPersonalData }: { isPartition: boolean; withoutPersonalData: boolean },
): ExportColumn[] {
  const there = db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table)
  return publicColumns(table)
    .filter(({ name }) => there.includes(name) && name !== 'row_id' && !(isPartition && name === 'organization'))
    .filter(({ personal }) => !(withoutPersonalData && personal))
    .map(({ name, type, meaning }) => ({ name, type, isJson: /^JSON\b/.test(meaning) }))
}

/*
 * The feed of changes: where it begins and ends, and what of it a reader lacks.
 */

/** In copies of a mirror on a server: beside the last numbers of its tables, the highest seq that the server gave to any change. */
export const GIVEN_BY_SERVER = 'changes of the server'

/** The last number that SQLite gave to a row of a table, also where that row was deleted; 0 where there was none. */
export function lastNumber(db: Connection, table: string): number {
  return numberIn(db, 'SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = ?), 0)', table)
}

/** The seq where the changes after this state of the file go on: the highest that was given, or below which changes were deleted or undone. */
export function lastSeq(db: Connection): number {
  const known = `SELECT max((SELECT coalesce(MAX(seq), 0) FROM changes), (SELECT coalesce(MAX(feed_seq), 0) FROM horizons))`
  return Math.max(lastNumber(db, 'changes'), numberIn(db, known))
}

/** The highest seq that a reader may have read. Its change, and those before it, may have been deleted with their organization. */
export function lastGiven(db: Connection): number {
  return Math.max(lastSeq(db), lastNumber(db, GIVEN_BY_SERVER))
}

/**
 * What brings a copy that holds all changes up to `since` to this state of the file: a row for each later change, in order, with
 * the customer as it is now; before them a row `current`, with no seq, for each customer that was written later without a change
 * of its own: customers of an organization that was first read later, and those that went missing or came back from it.
 */
function selectFeed(
  db: Connection,
  since: number,
  { organizations, columnsOf }: { organizations: readonly string[]; columnsOf: (table: string) => ExportColumn[] },
): SelectedRows {
  const own = columnsOf('changes')
  const values = columnsOf('customers').flatMap((column) => {
    const name = own.every((each) => each.name !== column.name) ? column.name : BESIDE_A_CHANGE[column.name]
    return name === undefined ? [] : [{ ...column, name, value: `now."${column.name}"` }]
  })
  const select = (expressions: Readonly<Record<string, string>>, otherwise: string) => {
    const changed = own.map(({ name }) => expressions[name] ?? `${otherwise}."${name}"`)
    return [...changed, ...values.map(({ value }) => value)].join(', ')
  }
  const { at, late } = lastKnown(db, since, organizations)
  // Where all rows are read, they are read as they lie in the file.
  const isLater =
    at === '' ? '(? = ? OR TRUE)' : '(now.updated_at > ? OR now.organization IN (SELECT value FROM json_each(?)))'
  const ids = JSON.stringify(organizations)
  return {
    columns: [...own, ...values],
    sql: `SELECT ${select(CURRENT, 'now')} FROM customers AS now
        WHERE ${isLater} AND +now.organization IN (SELECT value FROM json_each(?))
          AND NOT EXISTS (SELECT 1 FROM changes AS later
            WHERE later.organization = now.organization AND later.id = now.id AND later.seq > ?)
      UNION ALL
      SELECT ${select(CHANGED, 'selected')} FROM changes AS selected
        LEFT JOIN customers AS now ON now.organization = selected.organization AND now.id = selected.id
        WHERE selected.seq > ? AND +selected.organization IN (SELECT value FROM json_each(?))`,
    parameters: [at, JSON.stringify(late), ids, since, since, ids],
  }
}

/** The names of columns of customers that changes have too, and with another meaning. */
const BESIDE_A_CHANGE: Readonly<Record<string, string>> = { changed_at: 'customer_changed_at' }

const CURRENT = {
  seq: 'NULL',
  run_id: 'now.last_run_id',
  change: `'current'`,
  fields: 'NULL',
  changed_at: 'now.updated_at',
}

/** As the changes have it for a removal, and otherwise as the customer has it now. */
const CHANGED = { missing_since: `iif(selected.change = 'removed', selected.missing_since, now.missing_since)` }

/**
 * A time before which a reader of all changes up to `since` knows every row, and the organizations of which it may know none, because their
 * lists were first read to their end later: an export leaves those out. Never too little; a day more than was missed, since clocks differ.
 */
function lastKnown(db: Connection, since: number, organizations: readonly string[]): { at: string; late: string[] } {
  const known = db
    .prepare<[number], { changed_at: string; run_id: bigint }>(
      'SELECT changed_at, run_id FROM changes WHERE seq <= ? ORDER BY seq DESC LIMIT 1',
    )
    .get(since)
  if (known === undefined) return { at: '', late: [] }
  const late = db
    .prepare<[bigint, string, string], string>(
      `SELECT organization FROM
         (SELECT MIN(id) AS id, organization, finished_at FROM runs WHERE ${READ_TO_END} GROUP BY organization) AS first
       WHERE (id > ? OR finished_at >= strftime('%Y-%m-%d %H:%M:%f', ?, '-1 day'))
         AND organization IN (SELECT value FROM json_each(?))`,
    )
    .pluck()
    .all(known.run_id, known.changed_at, JSON.stringify(organizations))
  return { at: known.changed_at, late }
}
