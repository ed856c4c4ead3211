import {
  assertSchemaCompatibility,
  isPgPool,
  LATEST_SCHEMA_VERSION,
  runMigrations,
  SchemaMigrationRequiredError,
} from 'bullmq'
import { Pool, type ClientConfig } from 'pg'
import type { Opening, Store } from '../backend.ts'
import { within } from '../deadline.ts'
import { postgresFactory } from './postgres-factory.ts'
import { postgresProbes } from './postgres-probes.ts'
import { postgresLimits } from './postgres-limits.ts'
import { postgresValues } from './postgres-values.ts'
import { QueueClient, queueSettings } from './queue-client.ts'
import { openSession, SESSION } from './queue-sessions.ts'

/** Connections at most. Three of them only listen: one of each worker. */
const CONNECTIONS = 10

/** The queue in its own schema of a PostgreSQL database. Rejects when it cannot be reached within `connectMs`. */
export async function openPostgres(address: string, { connectMs, answerMs, prefix }: Opening): Promise<Store> {
  const settings = {
    ...queueSettings(address),
    keepAlive: true,
    connectionTimeoutMillis: connectMs,
    application_name: 'customer-mirror',
  }
  await migrate(settings, connectMs)
  const pool = new Pool({
    ...{ ...settings, Client: QueueClient, max: CONNECTIONS, query_timeout: answerMs },
    // The pool waits for it, although the types do not say so.
    // oxlint-disable-next-line typescript/no-misused-promises
    onConnect: (client) => client.query(SESSION),
  })
  // An idle connection that breaks is replaced; without this listener its error would end the process.
  pool.on('error', () => {})
  // The queue declares its own type of pool.
  const connection: unknown = pool
  if (!isPgPool(connection)) throw new TypeError('The PostgreSQL driver has no pool the queue can use.')
  let closed: Promise<void> | undefined
  return {
    factory: postgresFactory(connection),
    ...postgresProbes(pool, prefix),
    values: postgresValues(pool, prefix),
    limits: postgresLimits(pool, prefix),
    close: () => (closed ??= pool.end()),
  }
}

/** Migrations hold a lock and a transaction, so they need a session of their own, and each statement the time that it takes. */
async function migrate(settings: ClientConfig, connectMs: number): Promise<void> {
  const client = await openSession(settings, connectMs)
  try {
    await client.query(SESSION)
    if (!(await isMigrated(client))) await runMigrations(client)
  } finally {
    await within(client.end(), connectMs, undefined)
  }
}

/** Whether nothing is to be migrated. Even then migrations would ask for the rights with which the schema was made. */
async function isMigrated(client: QueueClient): Promise<boolean> {
  try {
    return (await assertSchemaCompatibility(client)) >= LATEST_SCHEMA_VERSION
  } catch (error) {
    if (error instanceof SchemaMigrationRequiredError) return false
    throw error
  }
}
