import type { Connection } from '../store/sqlite/connect.ts'
import { publicColumns } from '../model/public-tables.ts'
import { type SelectedRows, selectFeed } from './feed.ts'
import type { ExportColumn, ExportFacts } from './format.ts'

/** Which rows are exported. Passed to the process that exports as JSON. */
export type Selection = {
  /** Only the rows of these organizations; empty for those of all. */
  organizations: readonly string[]
  /** Removed customers too. */
  includeRemoved?: boolean | undefined
  /** The customers as they were at this time, in the mirror's form. */
  asOf?: string | undefined
  /** What changed after this seq, in place of customers. */
  changesSince?: number | undefined
  /** Leave out what the dictionary calls personal. */
  withoutPersonalData?: boolean | undefined
}

/** The public table whose rows these are. */
export function tableOf({ includeRemoved, asOf, changesSince }: Selection): ExportFacts['table'] {
  if (changesSince !== undefined) return 'changes'
  if (asOf !== undefined) return 'customers_history'
  return includeRemoved === true ? 'customers' : 'active_customers'
}

/**
 * The selected rows of these organizations, with every public column that the file has. A partition is of one organization, which is not in its
 * rows, and they are found by an index.
 */
export function selectRows(
  db: Connection,
  selection: Selection,
  organizations: readonly string[],
  { isPartition }: { isPartition: boolean },
): SelectedRows {
  const { asOf, changesSince, withoutPersonalData = false } = selection
  const table = tableOf(selection)
  const columnsOf = (name: string) => columnsIn(db, name, { isPartition, withoutPersonalData })
  if (changesSince !== undefined) return selectFeed(db, changesSince, { organizations, columnsOf })
  const columns = columnsOf(table)
  // A plus keeps rows in their order: they are read as they lie in the file, and no index is used to find them.
  const isSelected = `${isPartition ? '' : '+'}selected.organization IN (SELECT value FROM json_each(?))`
  const select = `SELECT ${columns.map(({ name }) => `selected."${name}"`).join(', ')} FROM`
  const ids = JSON.stringify(organizations)
  if (asOf !== undefined)
    return {
      columns,
      sql: `${select} customers_history AS selected
        WHERE valid_from <= ? AND (valid_to IS NULL OR valid_to > ? AND NOT ${WAS_REPLACED}) AND ${isSelected}`,
      parameters: [asOf, asOf, asOf, ids],
    }
  const isActive = table === 'active_customers' ? 'AND removed_at IS NULL' : ''
  return { columns, sql: `${select} customers AS selected WHERE ${isSelected} ${isActive}`, parameters: [ids] }
}

/**
 * Whether a change after the one that ended a version is dated before that time, as after a clock that was set back. The last change
 * by then counts, so that each customer has one version.
 */
const WAS_REPLACED = `EXISTS (SELECT 1 FROM changes AS sooner
  WHERE sooner.organization = selected.organization AND sooner.id = selected.id AND sooner.changed_at <= ?
    AND sooner.seq > (SELECT MIN(seq) FROM changes AS closing
      WHERE closing.organization = selected.organization AND closing.id = selected.id
        AND closing.changed_at = selected.valid_to AND closing.change = selected.closed_by))`

type Kind = { isPartition: boolean; withoutPersonalData: boolean }

/** The public columns of a table, those that the file has. Numbers of rows within a file say nothing elsewhere. */
function columnsIn(db: Connection, table: string, { isPartition, withoutPersonalData }: Kind): ExportColumn[] {
  const there = db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table)
  return publicColumns(table)
    .filter(({ name }) => there.includes(name) && name !== 'row_id' && !(isPartition && name === 'organization'))
    .filter(({ personal }) => !(withoutPersonalData && personal))
    .map(({ name, type, meaning, nullable }) => ({ name, type, meaning, nullable, isJson: /^JSON\b/.test(meaning) }))
}
