/** The columns of the table `manifest`, which only a copy has. */
export const COLUMNS_OF_MANIFEST = [
  { name: 'organization', type: 'TEXT NOT NULL', meaning: 'organization, as named in the configuration' },
  { name: 'published_at', type: 'DATETIME', meaning: 'when the copy was made, UTC' },
  { name: 'left_out', type: 'TEXT', meaning: 'why its rows are not in the copy: never-read; NULL when they are' },
  { name: 'run_id', type: 'INTEGER', meaning: 'last run that read the list to its end, as runs.id' },
  { name: 'proof', type: 'TEXT', meaning: 'what that run proved: proven, settled, converged or unproven' },
  { name: 'read_as_of', type: 'DATETIME', meaning: 'start of that run, UTC' },
  {
    name: 'proven_as_of',
    type: 'DATETIME',
    meaning: 'start of the last run whose scan is proven or settled, UTC; NULL if none',
  },
  { name: 'last_run_id', type: 'INTEGER', meaning: 'latest run, as runs.id; NULL if none' },
  { name: 'last_status', type: 'TEXT', meaning: 'status of the latest run; running if it was under way' },
  { name: 'customers', type: 'INTEGER', meaning: 'rows of customers' },
  { name: 'active_customers', type: 'INTEGER', meaning: 'rows of active_customers' },
  { name: 'changes', type: 'INTEGER', meaning: 'rows of changes' },
  { name: 'runs', type: 'INTEGER', meaning: 'rows of runs' },
  { name: 'rejects', type: 'INTEGER', meaning: 'rows of rejects; 0 in a copy without personal data' },
  { name: 'last_seq', type: 'INTEGER', meaning: 'highest changes.seq; 0 if there are no changes' },
  { name: 'forgotten', type: 'INTEGER', meaning: 'number of the customer who was forgotten last; 0 if none was' },
  {
    name: 'sha256',
    type: 'TEXT',
    meaning: 'SHA-256 of the lines that the query in sha256_of prints, each with its line end',
  },
  { name: 'sha256_of', type: 'TEXT', meaning: 'query that prints every customer of the organization as a JSON array' },
] as const
