import type { TextField } from './customer.ts'

/** A column that readers may rely on: later versions may add columns, never rename or drop one. */
export type PublicColumn = {
  name: string
  /** The declared type in SQL. JSON is text. */
  type: 'TEXT' | 'INTEGER' | 'DATETIME' | 'BOOLEAN'
  meaning: string
  /** `service`: as the service sent it; `mirror`: written or derived by the mirror. */
  source: 'service' | 'mirror'
  nullable: boolean
  /** Whether it may hold personal data of a customer. */
  personal: boolean
}

type Column = Omit<PublicColumn, 'name'>

export type PublicTable = { name: string; meaning: string; columns: readonly PublicColumn[] }

/** The columns of a public table; none where there is no such table. */
export function publicColumns(table: string): readonly PublicColumn[] {
  return PUBLIC_TABLES.find(({ name }) => name === table)?.columns ?? []
}

export function publicTable(name: string, meaning: string, columns: Readonly<Record<string, Column>>): PublicTable {
  return { name, meaning, columns: Object.entries(columns).map(([key, facts]) => ({ name: key, ...facts })) }
}

/** Columns that the mirror writes, each by its type, and the same where they may be NULL. */
const [text, number, isTrue] = [column('TEXT'), column('INTEGER'), column('BOOLEAN')]
export const time = column('DATETIME')
export const orNull = { text: column('TEXT', true), number: column('INTEGER', true), time: column('DATETIME', true) }

function column(type: Column['type'], nullable = false) {
  return (meaning: string): Column => ({ type, meaning, source: 'mirror', nullable, personal: false })
}

const personal = (of: Column): Column => ({ ...of, personal: true })
const asSent = (of: Column): Column => ({ ...of, source: 'service' })
const field = (what: string) => asSent(orNull.text(`${what}, as sent; NULL when null or missing`))

export const organizationColumn = text('organization, as named in the configuration')
const id = asSent(text('UUID of the customer, in lower case'))
const extra = personal(asSent(orNull.text('JSON object of fields that the specification does not know; NULL if none')))

const FIELDS: Readonly<Record<TextField, Column>> = {
  name: personal(field('name of the customer')),
  username: personal(field('user name at the service')),
  email: personal(field('e-mail address')),
  phone: personal(field('phone number')),
  address: personal(field('postal address')),
  company_name: personal(field('name of the company')),
  language: field('language'),
  timezone: field('time zone'),
  created_at: field('when the service created the customer'),
}

const CUSTOMER = {
  organization: organizationColumn,
  id,
  ...FIELDS,
  created_at_utc: orNull.time('created_at in UTC, to the second; NULL when it cannot be read'),
  extra,
  first_seen_at: time('when a run first saved the customer, UTC'),
  changed_at: time('when a run last saved a changed field of the customer, UTC'),
  missing_since: orNull.time('when the customer was first found absent, UTC; NULL while listed'),
  removed_at: orNull.time('when the customer was taken as no longer active, UTC; NULL while active'),
  last_run_id: number('run that last wrote the values or the removal of the customer, as runs.id'),
  updated_at: time('when the row last changed in any column, UTC; a later change has a greater one'),
  is_active: isTrue('1 while the customer is not removed, 0 after'),
}

export const PUBLIC_TABLES: readonly PublicTable[] = [
  publicTable('customers', 'every customer that was ever listed, with the values read last', {
    row_id: number('number of the row within this file; to join with other files use organization and id'),
    ...CUSTOMER,
  }),
  publicTable('active_customers', 'the customers that are not removed', CUSTOMER),
  publicTable('customers_normalized', 'every customer by what spellings differ in, to compare and to count by', {
    organization: organizationColumn,
    id,
    email: personal(orNull.text('e-mail address, trimmed, in small letters (a to z); NULL where none is left')),
    company_name: personal(orNull.text('name of the company, likewise')),
    removed_at: CUSTOMER.removed_at,
    is_active: CUSTOMER.is_active,
  }),
  publicTable('changes', 'every change of a customer since the first complete run of its organization, in order', {
    seq: number('number of the change; a later change has a higher number'),
    run_id: number('run that found the change, as runs.id'),
    organization: organizationColumn,
    id,
    change: text('added, changed, removed or returned'),
    fields: personal(orNull.text('JSON object: field → [before, after]; NULL where none changed, {} once deleted')),
    changed_at: time('when the mirror wrote the change, UTC'),
    missing_since: orNull.time('of a removal, since when the customer was absent, UTC; NULL otherwise'),
  }),
  publicTable('runs', 'every run, with its report', {
    id: number('number of the run; a later run has a higher number'),
    organization: organizationColumn,
    trigger: text('what started the run: sync, schedule, manual or catch-up'),
    started_at: time('when the run started, UTC'),
    finished_at: orNull.time('when the run ended, UTC; NULL while it runs'),
    duration_ms: orNull.number('how long the run took, in milliseconds; NULL while it runs'),
    read_as_of: time('start of the scan, UTC; of one that was resumed, that of its first part'),
    status: text(
      'running (a killed run too, until the next one starts), complete, failed, interrupted, waiting or partial (quick)',
    ),
    proof: text('what the scan proved: proven, settled or unproven'),
    reasons: text('JSON array: why the scan is not proven'),
    certificate: orNull.text('JSON object: what the proof rests on; NULL where a run has none'),
    error_code: orNull.text('code of the error that ended the run; NULL if none'),
    error: orNull.text('message of the error that ended the run; NULL if none'),
    shape_accepted_at: orNull.time('when a person accepted the changed shape of its data, UTC; NULL if none'),
    resumed_from: orNull.number('interrupted run that this run continues, as runs.id; NULL if none'),
    read_before: number('customers read by the interrupted runs that it continues, and not received anew'),
    trusted_pages: orNull.number('pages that a partial run trusted without reading them; NULL for other runs'),
    requests: number('requests sent to the service'),
    pages: number('pages saved'),
    received: number('records received = inserted + updated + unchanged + duplicates + rejected + suppressed'),
    inserted: number('customers that were new'),
    updated: number('customers of which the row was written again'),
    unchanged: number('customers that were stored as they came'),
    duplicates: number('records of a customer that the run had already read'),
    rejected: number('records that could not be kept as customers; one without a readable id counts each time it came'),
    suppressed: number('records of forgotten customers, of which nothing is kept'),
    missing: number('absent customers marked as missing and not removed; 0 where it held them back'),
    removed: number('customers taken as no longer active'),
    returned: number('removed customers that are listed again'),
    held: number('removals held back because they were too many; in a partial run, marks as missing'),
    searches_refused: number('searches for absent customers that the service refused or did not answer'),
    throttled: number('answers with which the service asked to slow down'),
    waited_ms: number('time spent waiting for the service, in milliseconds'),
    warnings: text('JSON object: kind of odd value → how many were kept'),
  }),
  publicTable('rejects', 'records that could not be kept as customers', {
    reject_id: number('number of the reject within this file'),
    run_id: number('run that received the record last, as runs.id'),
    organization: organizationColumn,
    record_id: asSent(orNull.text('UUID of the record, in lower case; NULL when it has none')),
    record_key: personal(text('what identifies the record: its UUID, or else a digest of its payload')),
    page: number('page on which the record came last, from 1'),
    position: number('position of the record within that page, from 0'),
    payload: asSent(personal(text('JSON: the record as received, cut where it is long'))),
    reasons: text('JSON array of { field, message }: why the record is rejected'),
    first_seen_at: time('when a run first received the record, UTC'),
    seen_at: time('when a run last received the record, UTC'),
    resolved_at: orNull.time(
      'when the record was valid again, or a run that read the whole list no longer received it, UTC; NULL while open',
    ),
  }),
  publicTable('held_removals', 'the customers whose removal waits to be approved or discarded', {
    organization: organizationColumn,
    id,
    ...{ name: FIELDS.name, username: FIELDS.username, email: FIELDS.email },
    absent_since: time('since when the customer is absent from the list, UTC'),
    run_id: number('run that held the removal back, as runs.id'),
  }),
  publicTable('freshness', 'how current the rows of each organization are', {
    organization: organizationColumn,
    read_as_of: orNull.time('start of the last scan that read the list to its end, UTC; NULL if none'),
    read_age_seconds: orNull.number('seconds since read_as_of, negative where that lies in the future; NULL if none'),
    proven_as_of: orNull.time('start of the last scan that is proven or settled, UTC; NULL if none'),
    proven_age_seconds: orNull.number('seconds since proven_as_of, negative as that of read_as_of; NULL if none'),
    proof: orNull.text('what the scan of read_as_of proved: proven, settled or unproven'),
    last_run_id: number('latest run, as runs.id'),
    last_status: text('status of the latest run, as runs.status'),
    active: number('customers that are not removed'),
    missing: number('customers that are missing and not removed'),
    removed: number('customers that are removed'),
    open_rejects: number('rejects that are not resolved'),
    held: number('removals that wait to be approved or discarded'),
    retired_at: orNull.time('since when the organization is retired, UTC; NULL if none'),
  }),
  publicTable('customers_history', 'every customer as it was: a row for each version, removed customers included', {
    organization: organizationColumn,
    id,
    valid_from: time('when the mirror first saved this version, UTC'),
    valid_to: orNull.time('when the mirror replaced or removed it, UTC; NULL for the version of now'),
    valid_from_after: orNull.time('the service began to list this version after this time, UTC; NULL if unknown'),
    valid_to_after: orNull.time(
      'after this time the service stopped to list it, if it was listed then, UTC; NULL if unknown or not yet',
    ),
    opened_by: text('listed (before the first complete run), kept (before history_from), added, changed or returned'),
    closed_by: orNull.text('changed or removed; NULL for the version of now'),
    ...FIELDS,
    extra,
  }),
  publicTable('customers_daily', 'what became of customers on each day, since the first complete run or history_from', {
    organization: organizationColumn,
    day: text('day in UTC, YYYY-MM-DD'),
    active: number('active customers at the end of the day: those of the day before + added - removed'),
    added: number('customers that are new or returned'),
    removed: number('customers that were removed'),
    changed: number('changes of fields'),
  }),
  publicTable('horizons', 'since when changes and history are kept, where retention deleted rows of an organization', {
    organization: organizationColumn,
    pruned_seq: number('changes of the organization up to this number are deleted; 0 where none are'),
    feed_seq: number('a reader of changes who has read less than this number needs a new copy'),
    history_from: orNull.time('history and daily counts begin here, UTC; NULL: at the first complete run'),
    customers_from: orNull.time('customers removed before this may be deleted, UTC; NULL: none are'),
  }),
  publicTable('dictionary', 'what each public table and column holds', {
    table_name: text('table or view'),
    column_name: text('column'),
    type: text('declared type in SQL; SQLite reports INTEGER as INT in views'),
    meaning: text('what the column holds'),
    source: text('service: as the service sent it; mirror: written or derived by the mirror'),
    nullable: isTrue('1 where the column may be NULL'),
    personal: isTrue('1 where the column may hold personal data of a customer'),
  }),
]
