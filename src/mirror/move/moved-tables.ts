/**
 * How a column is carried from one kind of store to the other. Times are timestamptz in PostgreSQL: a `moment` has milliseconds, a
 * `second` none. A `row` is the number of a row of `customers`, `rows` are many in one value, four bytes each, and an `order` is one of
 * `later-order.ts`, as JSON. A `place` is the last row of the table in `next_table` that something was done to.
 */
export type Kind =
  | 'text'
  | 'json'
  | 'integer'
  | 'boolean'
  | 'moment'
  | 'second'
  | 'bytes'
  | 'row'
  | 'rows'
  | 'order'
  | 'place'

export type MovedTable = {
  name: string
  columns: Readonly<Record<string, Kind>>
  /** The columns of a unique key, which puts the rows in the same order in both kinds of store. */
  key: readonly string[]
  /** Which rows belong to an organization: those that name it, or those of its runs. Those of `mirror` belong to all. */
  of: 'organization' | 'run' | 'mirror'
  /** How many rows are carried at once. */
  atOnce: number
}

const OF_ORGANIZATION = { of: 'organization', atOnce: 1000 } as const

/** Every table that a mirror needs to go on as if nothing had happened. Rows come after those that they refer to. */
export const MOVED_TABLES: readonly MovedTable[] = [
  { name: 'fingerprint_key', of: 'mirror', atOnce: 1, key: ['id'], columns: { id: 'integer', key: 'bytes' } },
  { name: 'last_update', of: 'mirror', atOnce: 1, key: ['id'], columns: { id: 'integer', updated_at: 'moment' } },
  {
    name: 'runs',
    ...OF_ORGANIZATION,
    key: ['id'],
    columns: {
      ...{ id: 'integer', organization: 'text', trigger: 'text', started_at: 'moment', finished_at: 'moment' },
      ...{ status: 'text', proof: 'text', reasons: 'json', requests: 'integer', pages: 'integer' },
      ...{ received: 'integer', inserted: 'integer', updated: 'integer', unchanged: 'integer' },
      ...{ duplicates: 'integer', rejected: 'integer', missing: 'integer', removed: 'integer', returned: 'integer' },
      ...{ held: 'integer', throttled: 'integer', waited_ms: 'integer', warnings: 'json', read_as_of: 'moment' },
      ...{ error_code: 'text', error: 'text', resumed_from: 'integer', certificate: 'json', duration_ms: 'integer' },
      ...{ read_before: 'integer', suppressed: 'integer', trusted_pages: 'integer' },
    },
  },
  {
    name: 'customers',
    ...OF_ORGANIZATION,
    key: ['organization', 'id'],
    columns: {
      ...{ row_id: 'row', organization: 'text', id: 'text', name: 'text', username: 'text', email: 'text' },
      ...{ phone: 'text', address: 'text', company_name: 'text', language: 'text', timezone: 'text' },
      ...{ created_at: 'text', created_at_utc: 'second', extra: 'json', first_seen_at: 'moment' },
      ...{ changed_at: 'moment', missing_since: 'moment', removed_at: 'moment', last_run_id: 'integer' },
      ...{ updated_at: 'moment', is_active: 'boolean' },
    },
  },
  {
    name: 'changes',
    ...OF_ORGANIZATION,
    key: ['seq'],
    columns: {
      ...{ seq: 'integer', run_id: 'integer', organization: 'text', id: 'text', change: 'text', fields: 'json' },
      ...{ at: 'moment', missing_since: 'moment' },
    },
  },
  {
    name: 'rejects',
    ...OF_ORGANIZATION,
    // One may hold a record of a megabyte.
    atOnce: 20,
    key: ['reject_id'],
    columns: {
      ...{ reject_id: 'integer', run_id: 'integer', organization: 'text', record_id: 'text', record_key: 'text' },
      ...{ page: 'integer', position: 'integer', payload: 'text', reasons: 'json', first_seen_at: 'moment' },
      ...{ seen_at: 'moment', resolved_at: 'moment' },
    },
  },
  {
    name: 'held_removals',
    ...OF_ORGANIZATION,
    key: ['organization', 'row_id'],
    columns: { organization: 'text', row_id: 'row', run_id: 'integer' },
  },
  {
    name: 'absences',
    ...OF_ORGANIZATION,
    key: ['organization', 'row_id'],
    columns: { organization: 'text', row_id: 'row', proven: 'integer', scans: 'integer' },
  },
  {
    name: 'windows',
    of: 'run',
    atOnce: 1000,
    key: ['run_id', 'start', 'size'],
    columns: {
      ...{ run_id: 'integer', start: 'integer', size: 'integer', per_page: 'integer', total: 'integer' },
      ...{ last_page: 'integer', beyond_end: 'boolean', row_ids: 'rows', rejected: 'text', place: 'integer' },
      count: 'integer',
    },
  },
  {
    name: 'lists',
    ...OF_ORGANIZATION,
    key: ['organization'],
    columns: {
      ...{ organization: 'text', run_id: 'integer', reader: 'text', customers: 'integer', warnings: 'text' },
      ...{ order_facts: 'text', later_order: 'order' },
    },
  },
  {
    name: 'list_chunks',
    ...OF_ORGANIZATION,
    // One takes 73 KB.
    atOnce: 16,
    key: ['organization', 'chunk'],
    columns: {
      ...{ organization: 'text', chunk: 'integer', row_ids: 'rows', fingerprints: 'bytes' },
      ...{ id_fingerprints: 'bytes', comparisons: 'bytes', oddities: 'bytes' },
    },
  },
  {
    name: 'list_windows',
    ...OF_ORGANIZATION,
    key: ['organization', 'number'],
    columns: {
      ...{ organization: 'text', number: 'integer', place: 'integer', count: 'integer', digest: 'text' },
      outline: 'text',
    },
  },
  {
    name: 'edited_customers',
    ...OF_ORGANIZATION,
    key: ['organization', 'row_id'],
    columns: { edit: 'integer', organization: 'text', row_id: 'row' },
  },
  {
    name: 'privacy_policies',
    ...OF_ORGANIZATION,
    key: ['organization'],
    columns: {
      ...{ organization: 'text', policy: 'text', next_policy: 'text', next_table: 'text', next_row: 'place' },
      ...{ unfilled: 'text', is_unpurged: 'boolean' },
    },
  },
  {
    name: 'retired_organizations',
    ...OF_ORGANIZATION,
    key: ['organization'],
    columns: { organization: 'text', retired_at: 'moment' },
  },
  { name: 'unfinished_forgets', ...OF_ORGANIZATION, key: ['organization'], columns: { organization: 'text' } },
  {
    name: 'forgotten_keys',
    ...OF_ORGANIZATION,
    key: ['organization'],
    columns: { organization: 'text', key: 'bytes' },
  },
  {
    name: 'forgotten',
    ...OF_ORGANIZATION,
    key: ['number'],
    columns: { number: 'integer', organization: 'text', hash: 'text', forgotten_at: 'moment' },
  },
  {
    name: 'horizons',
    ...OF_ORGANIZATION,
    key: ['organization'],
    columns: {
      ...{ organization: 'text', pruned_seq: 'integer', feed_seq: 'integer', history_from: 'moment' },
      customers_from: 'moment',
    },
  },
  {
    name: 'pruned_runs',
    ...OF_ORGANIZATION,
    key: ['organization'],
    columns: { organization: 'text', before_day: 'text' },
  },
]

/** Columns whose numbers are never given twice; the table goes on with the next one. */
export const NUMBERED: readonly { table: string; column: string }[] = [
  { table: 'runs', column: 'id' },
  { table: 'changes', column: 'seq' },
  { table: 'rejects', column: 'reject_id' },
  { table: 'edited_customers', column: 'edit' },
  { table: 'forgotten', column: 'number' },
]

const NUMBERED_KINDS: ReadonlySet<Kind> = new Set(['row', 'rows', 'order', 'place'])

/** Whether the table refers to rows of `customers` by their numbers. */
export function hasRowNumbers({ columns }: MovedTable): boolean {
  return Object.values(columns).some((kind) => NUMBERED_KINDS.has(kind))
}
