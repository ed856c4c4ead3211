import type { Store } from '../backend.ts'
import { TABLE, type Queryable } from './postgres-values.ts'

/** How a queue is asked whether it answers, and whether it takes what is written. */
export function postgresProbes(pool: Queryable, prefix: string): Pick<Store, 'ping' | 'write'> {
  return {
    ping: async () => {
      await pool.query('SELECT 1', [])
    },
    write: async () => {
      await pool.query(WRITE, [`${prefix}-probe`])
    },
  }
}

/** One row of ours in the queue's table, overwritten each time. */
const WRITE = `INSERT INTO ${TABLE} (queue, field, value) VALUES ($1, 'written', now()::text)
  ON CONFLICT (queue, field) DO UPDATE SET value = EXCLUDED.value`
