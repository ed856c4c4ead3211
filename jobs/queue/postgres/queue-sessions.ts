import { DEFAULT_SCHEMA } from 'bullmq'
import type { ClientBase, ClientConfig } from 'pg'
import { within } from '../deadline.ts'
import { QueueClient } from './queue-client.ts'

/** How often a pooler is seen to give the process of before, until it is taken to keep it. */
const LOOKS = 3

/**
 * What the statements of the queue take for granted, whatever the role or the database sets. BullMQ repeats none that met another one, as
 * they do in a stricter isolation, and a worker listens on a connection that is otherwise idle. Not among the parameters with which a
 * connection is begun: poolers refuse `options`.
 */
export const SESSION = `SET search_path = ${DEFAULT_SCHEMA}; SET default_transaction_isolation = 'read committed';
  SELECT set_config('idle_session_timeout', '0', false) WHERE current_setting('server_version_num')::int >= 140000`

/** Connects. Throws where nothing is answered in time, and where a pooler does not keep what a connection sets. */
export async function openSession(settings: ClientConfig, limitMs: number): Promise<QueueClient> {
  const client = new QueueClient(settings)
  try {
    await client.connect()
    // Migrations may take long, so a server that accepts connections and answers nothing is found before.
    const process = await within(processOf(client), limitMs, undefined)
    if (process === undefined) throw new Error('timeout exceeded: it accepts connections, and does not answer')
    if (!('processID' in client && client.processID === process)) await requireKept(client, settings, limitMs)
    return client
  } catch (error) {
    void client.end().catch(() => {})
    throw error
  }
}

/**
 * Throws where a worker could not use the database: it takes no writes (a standby, or default_transaction_read_only), cannot hold every text, or
 * gives this user no right to the schema of the queue.
 */
export async function requireUsable(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ is_read_only: boolean; encoding: string; may_use: boolean }>(USE)
  const [found] = rows
  if (found?.is_read_only === true) throw new Error('transactions are read-only there')
  if (found !== undefined && !HOLDS_EVERY_TEXT.has(found.encoding))
    throw new Error(
      `its database stores text as ${found.encoding}, which cannot hold every text: name one with ENCODING 'UTF8'`,
    )
  if (found?.may_use === false) throw new Error(`permission denied to make or to use the schema ${DEFAULT_SCHEMA}`)
}

/** The second one holds any bytes. */
const HOLDS_EVERY_TEXT = new Set(['UTF8', 'SQL_ASCII'])

const USE = `
  SELECT current_setting('transaction_read_only') = 'on' AS is_read_only, current_setting('server_encoding') AS encoding,
    coalesce((SELECT has_schema_privilege(oid, 'USAGE') FROM pg_catalog.pg_namespace WHERE nspname = '${DEFAULT_SCHEMA}'),
      has_database_privilege(current_database(), 'CREATE')) AS may_use`

/** A pooler gives its clients numbers of its own. In session mode it keeps the process of the server for each of them. */
async function requireKept(client: ClientBase, settings: ClientConfig, limitMs: number): Promise<void> {
  const other = new QueueClient(settings)
  try {
    const kept = await within(
      other.connect().then(() => isKept(client, other)),
      limitMs,
      undefined,
    )
    if (kept === undefined) throw new Error('timeout exceeded: the pooler there gives no second connection')
    if (!kept)
      throw new Error(
        'the pooler there gives each transaction another connection (transaction mode), and has to use session mode for the queue (pool_mode = session)',
      )
  } finally {
    void other.end().catch(() => {})
  }
}

/** Whether another client keeps its process, once this one has given back one that may be given away first or last. */
async function isKept(client: ClientBase, other: ClientBase): Promise<boolean> {
  await client.query('BEGIN')
  await other.query('BEGIN')
  const process = await processOf(other)
  await other.query('COMMIT')
  await client.query('COMMIT')
  for (let looks = 0; looks < LOOKS; looks += 1) if ((await processOf(other)) !== process) return false
  return true
}

async function processOf(client: ClientBase): Promise<number> {
  const { rows } = await client.query<{ process: number }>('SELECT pg_catalog.pg_backend_pid() AS process')
  return rows[0]?.process ?? 0
}
