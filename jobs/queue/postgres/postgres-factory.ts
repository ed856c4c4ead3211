import { createPostgresBackend, type PostgresConnectionOptions } from 'bullmq'
import type { Store } from '../backend.ts'

/** As where no job is delayed. Left to itself, a worker sleeps for up to an hour. */
const LONGEST_SLEEP_SECONDS = 5

/**
 * Makes the parts of the queue that know PostgreSQL. Their workers look at the clock every five seconds for the next delayed job: no timer
 * fires while the machine sleeps, and the clock may be set ahead.
 */
export function postgresFactory(connection: PostgresConnectionOptions): Store['factory'] {
  return (name, options, roles) => {
    const backend = createPostgresBackend(name, { ...options, connection }, roles)
    return Object.defineProperty(backend, 'maximumBlockTimeout', { value: LONGEST_SLEEP_SECONDS })
  }
}
