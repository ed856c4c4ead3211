import type { Session } from '../../../src/store/port/postgres-session.ts'

/** Stores customers of acme with the numbers from 1 on as their ids, in a table that the server never analyzed. */
export async function stockCustomers(session: Session, customers: number): Promise<void> {
  await session.run(`INSERT INTO runs (id, organization, trigger, started_at, read_as_of, status)
    VALUES (1, 'acme', 'sync', now(), now(), 'running')`)
  await session.run(`INSERT INTO customers (organization, row_id, id, first_seen_at, changed_at, updated_at, last_run_id)
    SELECT 'acme', number, number::text, now(), now(), now(), 1 FROM generate_series(1, ${customers}) AS number`)
}

/** How many rows of a table the server reads for some work in this transaction. */
export async function rowsRead(session: Session, table: string, work: () => Promise<unknown>): Promise<number> {
  const count = async () => Number((await session.first<{ rows: number }>(READ, table))?.rows)
  const before = await count()
  await work()
  return (await count()) - before
}

const READ =
  'SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0) AS rows FROM pg_stat_xact_user_tables WHERE relname = $1'
