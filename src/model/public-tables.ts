import { TEXT_FIELDS } from './customer.ts'
import { extra, organization, orNull, own, personal, sent, type PublicColumn } from './public-columns.ts'

export type { PublicColumn } from './public-columns.ts'

/** A table or view that readers may rely on. */
export type PublicTable = { name: string; meaning: string; columns: readonly PublicColumn[] }

/** The columns of a public table; none where there is no such table. */
export function publicColumns(table: string): readonly PublicColumn[] {
  return PUBLIC_TABLES.find(({ name }) => name === table)?.columns ?? []
}

/** Every public table and view. */
export const PUBLIC_TABLES: readonly PublicTable[] = [
  {
    name: 'customers',
    meaning: 'every customer that was ever listed, with the values read last',
    columns: [
      own('row_id', 'INTEGER', 'number of the row within this file; to join with other files use organization and id'),
      ...customerColumns(),
    ],
  },
  { name: 'active_customers', meaning: 'the customers that are not removed', columns: customerColumns() },
  {
    name: 'changes',
    meaning: 'every change of a customer since the first complete run of its organization, in order',
    columns: [
      own('seq', 'INTEGER', 'number of the change; a later change has a higher number'),
      own('run_id', 'INTEGER', 'run that found the change, as runs.id'),
      organization(),
      sent('id'),
      own('change', 'TEXT', 'added, changed, removed or returned'),
      personal(
        orNull(
          own(
            'fields',
            'TEXT',
            'JSON object: changed field → [before, after]; NULL where none changed, empty once the customer is deleted',
          ),
        ),
      ),
      own('changed_at', 'DATETIME', 'when the mirror wrote the change, UTC'),
      orNull(own('missing_since', 'DATETIME', 'of a removal, since when the customer was absent, UTC; NULL otherwise')),
    ],
  },
  { name: 'runs', meaning: 'every run, with its report', columns: runColumns() },
  {
    name: 'rejects',
    meaning: 'records that could not be kept as customers',
    columns: [
      own('reject_id', 'INTEGER', 'number of the reject within this file'),
      own('run_id', 'INTEGER', 'run that received the record last, as runs.id'),
      organization(),
      { ...orNull(sent('id')), name: 'record_id', meaning: 'UUID of the record, in lower case; NULL when it has none' },
      personal(own('record_key', 'TEXT', 'what identifies the record: its UUID, or else a digest of its payload')),
      own('page', 'INTEGER', 'page on which the record came last, from 1'),
      own('position', 'INTEGER', 'position of the record within that page, from 0'),
      personal({ ...own('payload', 'TEXT', 'JSON: the record as received, cut where it is long'), source: 'service' }),
      own('reasons', 'TEXT', 'JSON array of { field, message }: why the record is rejected'),
      own('first_seen_at', 'DATETIME', 'when a run first received the record, UTC'),
      own('seen_at', 'DATETIME', 'when a run last received the record, UTC'),
      orNull(
        own('resolved_at', 'DATETIME', 'when the record was valid again, or no longer listed, UTC; NULL while open'),
      ),
    ],
  },
  {
    name: 'held_removals',
    meaning: 'the customers whose removal waits to be approved or discarded',
    columns: [
      organization(),
      sent('id'),
      ...(['name', 'username', 'email'] as const).map((field) => orNull(sent(field))),
      own('absent_since', 'DATETIME', 'since when the customer is absent from the list, UTC'),
      own('run_id', 'INTEGER', 'run that held the removal back, as runs.id'),
    ],
  },
  { name: 'freshness', meaning: 'how current the rows of each organization are', columns: freshnessColumns() },
  {
    name: 'customers_history',
    meaning: 'every customer as it was: a row for each version, removed customers included',
    columns: historyColumns(),
  },
  {
    name: 'customers_daily',
    meaning:
      'what became of the customers of an organization on each day, from its first complete run or history_from on',
    columns: [
      organization(),
      own('day', 'TEXT', 'day in UTC, YYYY-MM-DD'),
      own('active', 'INTEGER', 'active customers at the end of the day: those of the day before + added - removed'),
      own('added', 'INTEGER', 'customers that are new or returned'),
      own('removed', 'INTEGER', 'customers that were removed'),
      own('changed', 'INTEGER', 'changes of fields'),
    ],
  },
  {
    name: 'horizons',
    meaning: 'since when changes and history are kept, for each organization of which retention has deleted rows',
    columns: [
      organization(),
      own('pruned_seq', 'INTEGER', 'changes of the organization up to this number are deleted; 0 where none are'),
      own('feed_seq', 'INTEGER', 'a reader of changes who has read less than this number needs a new copy'),
      orNull(
        own('history_from', 'DATETIME', 'history and daily counts begin here, UTC; NULL: at the first complete run'),
      ),
      orNull(own('customers_from', 'DATETIME', 'customers removed before this may be deleted, UTC; NULL: none are')),
    ],
  },
  {
    name: 'dictionary',
    meaning: 'what each public table and column holds',
    columns: [
      own('table_name', 'TEXT', 'table or view'),
      own('column_name', 'TEXT', 'column'),
      own('type', 'TEXT', 'declared type in SQL; SQLite reports INTEGER as INT in views'),
      own('meaning', 'TEXT', 'what the column holds'),
      own('source', 'TEXT', 'service: as the service sent it; mirror: written or derived by the mirror'),
      own('nullable', 'BOOLEAN', '1 where the column may be NULL'),
      own('personal', 'BOOLEAN', '1 where the column may hold personal data of a customer'),
    ],
  },
]

function customerColumns(): PublicColumn[] {
  return [
    organization(),
    sent('id'),
    ...TEXT_FIELDS.map((field) => orNull(sent(field))),
    orNull(own('created_at_utc', 'DATETIME', 'created_at in UTC, to the second; NULL when it cannot be read')),
    extra(),
    own('first_seen_at', 'DATETIME', 'when a run first saved the customer, UTC'),
    own('changed_at', 'DATETIME', 'when a run last saved a changed field of the customer, UTC'),
    orNull(own('missing_since', 'DATETIME', 'when the customer was first found absent, UTC; NULL while listed')),
    orNull(own('removed_at', 'DATETIME', 'when the customer was taken as no longer active, UTC; NULL while active')),
    own('last_run_id', 'INTEGER', 'run that last wrote the values or the removal of the customer, as runs.id'),
    own('updated_at', 'DATETIME', 'when the row last changed in any column, UTC; a later change has a greater one'),
    own('is_active', 'BOOLEAN', '1 while the customer is not removed, 0 after'),
  ]
}

function historyColumns(): PublicColumn[] {
  return [
    organization(),
    sent('id'),
    own('valid_from', 'DATETIME', 'when the mirror first saved this version, UTC'),
    orNull(own('valid_to', 'DATETIME', 'when the mirror replaced or removed it, UTC; NULL for the version of now')),
    orNull(
      own(
        'valid_from_after',
        'DATETIME',
        'the service began to list this version after this time, UTC; NULL if unknown',
      ),
    ),
    orNull(
      own(
        'valid_to_after',
        'DATETIME',
        'the service stopped to list it after this time, UTC; NULL if unknown or not yet',
      ),
    ),
    own(
      'opened_by',
      'TEXT',
      'listed (from before the first complete run on), kept (since before history_from), added, changed or returned',
    ),
    orNull(own('closed_by', 'TEXT', 'changed or removed; NULL for the version of now')),
    ...TEXT_FIELDS.map((field) => orNull(sent(field))),
    extra(),
  ]
}

function runColumns(): PublicColumn[] {
  const count = (name: string, meaning: string) => own(name, 'INTEGER', meaning)
  return [
    own('id', 'INTEGER', 'number of the run; a later run has a higher number'),
    organization(),
    own('trigger', 'TEXT', 'what started the run: sync, schedule, manual or catch-up'),
    own('started_at', 'DATETIME', 'when the run started, UTC'),
    orNull(own('finished_at', 'DATETIME', 'when the run ended, UTC; NULL while it runs')),
    orNull(count('duration_ms', 'how long the run took, in milliseconds; NULL while it runs')),
    own('read_as_of', 'DATETIME', 'start of the scan, UTC; of one that was resumed, that of its first part'),
    own('status', 'TEXT', 'running, complete, failed, interrupted, waiting or partial (a quick run)'),
    own('proof', 'TEXT', 'what the scan proved: proven, settled or unproven'),
    own('reasons', 'TEXT', 'JSON array: why the scan is not proven'),
    orNull(own('certificate', 'TEXT', 'JSON object: what the proof rests on; NULL where a run has none')),
    orNull(own('error_code', 'TEXT', 'code of the error that ended the run; NULL if none')),
    orNull(own('error', 'TEXT', 'message of the error that ended the run; NULL if none')),
    orNull(
      own(
        'shape_accepted_at',
        'DATETIME',
        'when a person accepted the shape of the data that this run found changed, UTC; NULL if none',
      ),
    ),
    orNull(count('resumed_from', 'interrupted run that this run continues, as runs.id; NULL if none')),
    count(
      'read_before',
      'customers read by the interrupted runs that this run continues, without those it received with other values',
    ),
    orNull(count('trusted_pages', 'pages that a quick run trusted without reading them; NULL for other runs')),
    count('requests', 'requests sent to the service'),
    count('pages', 'pages saved'),
    count('received', 'records received = inserted + updated + unchanged + duplicates + rejected + suppressed'),
    count('inserted', 'customers that were new'),
    count('updated', 'customers of which the row was written again'),
    count('unchanged', 'customers that were stored as they came'),
    count('duplicates', 'records of a customer that the run had already read'),
    count(
      'rejected',
      'records that could not be kept as customers; one without a readable id counts each time it came',
    ),
    count('suppressed', 'records of forgotten customers, of which nothing is kept'),
    count(
      'missing',
      'absent customers marked as missing and not removed; 0 where the run held them back or could not tell',
    ),
    count('removed', 'customers taken as no longer active'),
    count('returned', 'removed customers that are listed again'),
    count(
      'held',
      'removals held back because they were too many; in a quick run, customers not marked as missing for that reason',
    ),
    count(
      'searches_refused',
      'searches for absent customers that the service refused, or left without an answer although it answered others',
    ),
    count('throttled', 'answers with which the service asked to slow down'),
    count('waited_ms', 'time spent waiting for the service, in milliseconds'),
    own('warnings', 'TEXT', 'JSON object: kind of odd value → how many were kept'),
  ]
}

function freshnessColumns(): PublicColumn[] {
  const time = (name: string, meaning: string) => orNull(own(name, 'DATETIME', `${meaning}, UTC; NULL if none`))
  const age = (name: string, of: string) =>
    orNull(own(name, 'INTEGER', `seconds since ${of}, negative where that lies in the future; NULL if none`))
  const count = (name: string, meaning: string) => own(name, 'INTEGER', meaning)
  return [
    organization(),
    time('read_as_of', 'start of the last scan that read the list to its end, whatever it proved'),
    age('read_age_seconds', 'read_as_of'),
    time('proven_as_of', 'start of the last scan that is proven or settled'),
    age('proven_age_seconds', 'proven_as_of'),
    orNull(own('proof', 'TEXT', 'what the scan of read_as_of proved: proven, settled or unproven')),
    count('last_run_id', 'latest run, as runs.id'),
    own('last_status', 'TEXT', 'status of the latest run'),
    count('active', 'customers that are not removed'),
    count('missing', 'customers that are missing and not removed'),
    count('removed', 'customers that are removed'),
    count('open_rejects', 'rejects that are not resolved'),
    count('held', 'removals that wait to be approved or discarded'),
    time('retired_at', 'since when the organization is retired'),
  ]
}
