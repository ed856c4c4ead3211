import { organization, orNull, own } from '../../public-columns.ts'
import type { PublicTable } from '../../public-tables.ts'

/** The table `manifest`, which only a copy has. Rows of an organization that is left out are not counted. */
export const MANIFEST: PublicTable = {
  name: 'manifest',
  meaning: 'what a copy for readers holds of each organization; the mirror itself has no such table',
  columns: [
    organization(),
    own('published_at', 'DATETIME', 'when the copy was made, UTC'),
    orNull(own('left_out', 'TEXT', 'why its rows are not in the copy: never-read; NULL when they are')),
    orNull(own('run_id', 'INTEGER', 'last run that read the list to its end, as runs.id; NULL if none')),
    orNull(own('proof', 'TEXT', 'what that run proved: proven, settled, converged or unproven; NULL if none')),
    orNull(own('read_as_of', 'DATETIME', 'start of that run, UTC; NULL if none')),
    orNull(own('proven_as_of', 'DATETIME', 'start of the last run whose scan is proven or settled, UTC; NULL if none')),
    orNull(own('last_run_id', 'INTEGER', 'latest run, as runs.id; NULL if none')),
    orNull(own('last_status', 'TEXT', 'status of the latest run, running if it was under way; NULL if none')),
    orNull(own('customers', 'INTEGER', 'rows of customers; NULL when left out')),
    orNull(own('active_customers', 'INTEGER', 'rows of active_customers; NULL when left out')),
    orNull(own('changes', 'INTEGER', 'rows of changes; NULL when left out')),
    orNull(own('runs', 'INTEGER', 'rows of runs; NULL when left out')),
    orNull(own('rejects', 'INTEGER', 'rows of rejects, 0 in a copy without personal data; NULL when left out')),
    orNull(own('last_seq', 'INTEGER', 'highest changes.seq, 0 if there are no changes; NULL when left out')),
    orNull(
      own('forgotten', 'INTEGER', 'number of the customer who was forgotten last, 0 if none was; NULL when left out'),
    ),
    orNull(own('sha256', 'TEXT', 'SHA-256 of the lines that the query in sha256_of prints; NULL when left out')),
    orNull(
      own(
        'sha256_of',
        'TEXT',
        'query that prints every customer of the organization as a JSON array; NULL when left out',
      ),
    ),
  ],
}
