import { Client, Pool, type ClientBase, type ClientConfig } from 'pg'
import type { PgQueryable, PostgresConnectionOptions } from 'bullmq'
import { z } from 'zod'
import { postgresSettings, prepareLogin } from '../../src/address/postgres-login.ts'
import { parsePostgresAddress, QUEUE_PARAMETERS } from '../../src/address/postgres-address.ts'
import { QueueUnavailable } from '../../src/errors/errors.ts'
import { within } from '../../src/machine/timers.ts'
import { CONNECT_MS, FARTHEST, type Opening, type ServerStore, type SharedValues, type Store } from './port.ts'

/** Connections at most. Three of them only listen: one of each worker. */
const CONNECTIONS = 10

export const SCHEMA = 'bullmq'

/** The queue in its own schema of a PostgreSQL database. Its verbs reject when it cannot be reached within CONNECT_MS. */
export function openPostgres(address: string, { answerMs, commandMs, prefix }: Opening): ServerStore {
  const settings = {
    ...queueSettings(address),
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_MS,
    application_name: 'customer-mirror',
  }
  const pool = new Pool({
    ...{ ...settings, Client: QueueClient, max: CONNECTIONS, query_timeout: commandMs ?? answerMs },
    // The pool waits for it, although the types do not say so.
    // oxlint-disable-next-line typescript/no-misused-promises
    onConnect: (client) => client.query(SESSION),
  })
  // An idle connection that breaks is replaced; without this listener its error would end the process.
  pool.on('error', () => {})
  return {
    values: postgresValues(pool, prefix),
    loadFactory: async () => {
      await inSession(settings, migrate)
      // The queue declares its own type of pool.
      const { isPgPool } = await import('bullmq')
      const connection: unknown = pool
      if (!isPgPool(connection)) throw new TypeError('The PostgreSQL driver has no pool the queue can use.')
      return factoryIn(connection)
    },
    ask: async () => {
      await inSession(settings, (client) => client.query(TRY_RIGHTS))
      return { dropsKeysBy: undefined }
    },
    close: () => pool.end(),
  }
}

/** Workers look at the clock every five seconds for the next delayed job: no timer fires while the machine sleeps. */
export async function factoryIn(connection: PostgresConnectionOptions): ReturnType<Store['loadFactory']> {
  const { createPostgresBackend } = await import('bullmq')
  return (name, options, roles) => {
    const backend = createPostgresBackend(name, { ...options, connection }, roles)
    return Object.defineProperty(backend, 'maximumBlockTimeout', { value: 5 })
  }
}

/** How a queue in PostgreSQL is reached, read as the address of a mirror: with TLS, but for a server on this machine, unless it says otherwise. */
export function queueSettings(address: string) {
  const found = parsePostgresAddress(address, QUEUE_PARAMETERS)
  if (found.problem !== undefined) throw new QueueUnavailable(`The address of the queue ${found.problem}.`)
  return postgresSettings(found.address, (what) => new QueueUnavailable(`The queue cannot be used: ${what}`))
}

export class QueueClient extends Client {
  constructor(config?: ClientConfig) {
    super(config)
    prepareLogin(this)
    // A statement under way reports that its connection has ended. BullMQ does not listen for the event, which would end the process.
    this.on('error', () => {})
  }
}

/** Works in a session of its own. Throws where none answers in time, and where a pooler keeps no settings or has too few connections. */
async function inSession(settings: ClientConfig, work: (client: QueueClient) => Promise<unknown>): Promise<void> {
  const client = new QueueClient(settings)
  try {
    await client.connect()
    // Migrations may take long, so a server that accepts connections and answers nothing is found before.
    const process = await within(askProcess(client), CONNECT_MS, undefined)
    if (process === undefined) throw new Error('timeout exceeded: it accepts connections, and does not answer')
    // A pooler gives its clients numbers of its own.
    if (!('processID' in client && client.processID === process)) await requirePool(client, settings)
    await work(client)
  } finally {
    void client.end().catch(() => {})
  }
}

/** Migrations hold a lock and a transaction, so they need a session of their own, and each statement the time that it takes. */
async function migrate(client: QueueClient): Promise<void> {
  await client.query(TRY_RIGHTS)
  await client.query(SESSION)
  const bullmq = await import('bullmq')
  const version = await bullmq.assertSchemaCompatibility(client).catch((error: unknown) => {
    if (error instanceof bullmq.SchemaMigrationRequiredError) return 0
    throw error
  })
  // Where nothing is to be done, they would ask for the rights with which the schema was made all the same.
  if (version < bullmq.LATEST_SCHEMA_VERSION) await bullmq.runMigrations(client)
}

/** Refuses what a worker cannot use, and changes nothing: no schema of that name is ever committed, so two at once do not collide. */
const TRY_RIGHTS = `BEGIN; DO $$ BEGIN
  IF current_setting('server_encoding') <> 'UTF8' THEN RAISE 'its database is in %, not in UTF8', current_setting('server_encoding');
  ELSIF to_regclass('${SCHEMA}.meta') IS NULL THEN CREATE SCHEMA ${SCHEMA}_tried;
  ELSE DELETE FROM ${SCHEMA}.meta WHERE false; END IF;
END $$; ROLLBACK`

/** Whatever the role or the database sets: BullMQ repeats no statement that a stricter isolation refused. Poolers refuse `options` for this. */
const SESSION = `SET search_path = ${SCHEMA}; SET default_transaction_isolation = 'read committed'`

/** Throws where a pooler has no connection for each of a worker, or does not keep one for each in session mode. */
async function requirePool(client: ClientBase, settings: ClientConfig): Promise<void> {
  const others = Array.from({ length: NEEDED - 1 }, () => new QueueClient(settings))
  try {
    const connecting = Promise.all(others.map((other) => other.connect().then(() => askProcess(other))))
    if ((await within(connecting, CONNECT_MS / 2, undefined)) === undefined) throw new Error(TOO_FEW)
    // Forward and back: a connection that is free may be given to the next client first or last.
    const clients = [client, ...others]
    const first = await Array.fromAsync(clients, askProcess)
    const again = await Array.fromAsync(clients.toReversed(), askProcess)
    const isKept = new Set(first).size === NEEDED && first.every((process, at) => process === again.at(-1 - at))
    if (!isKept) throw new Error(NOT_KEPT)
  } finally {
    for (const other of others) void other.end().catch(() => {})
  }
}

/** The connections that only listen, one of each worker, and one for everything else. */
const NEEDED = 4
const TOO_FEW = `the pooler there has fewer than ${NEEDED} connections for this user and database, and a worker takes up to ${CONNECTIONS} (default_pool_size = ${CONNECTIONS})`
const NOT_KEPT =
  'the pooler there gives each transaction another connection (transaction mode), and has to use session mode for the queue (pool_mode = session)'

async function askProcess(client: ClientBase): Promise<number> {
  const { rows } = await client.query<{ process: number }>('SELECT pg_catalog.pg_backend_pid() AS process')
  return rows[0]?.process ?? 0
}

/** Shared values as rows of ours in the queue's table of settings. */
export function postgresValues(pool: PgQueryable, prefix: string): SharedValues {
  const queue = `${prefix}-shared`
  const select = async (condition: string, name: string) =>
    rows.parse((await pool.query(`${SELECT} ${condition}`, [queue, name])).rows)
  const add = async (name: string, value: string) =>
    (await pool.query(`${INSERT} DO NOTHING RETURNING field`, [queue, name, value])).rows.length > 0
  return {
    read: async (name) => (await select('AND field = $2', name))[0]?.value,
    list: async (beginning) =>
      new Map((await select('AND starts_with(field, $2)', beginning)).map(({ field, value }) => [field, value])),
    write: async (name, value) =>
      void (await pool.query(`${INSERT} DO UPDATE SET value = EXCLUDED.value`, [queue, name, value])),
    delete: async (name) => void (await pool.query(DELETE, [queue, name])),
    add,
    takeTurn: async (limit, spacingMs, pauseMs) => {
      const name = `limit:${limit}`
      const take = async () => rows.parse((await pool.query(TAKE_TURN, [queue, name, spacingMs, pauseMs])).rows)[0]
      const taken = await take()
      if (taken === undefined) await add(name, NO_TURNS)
      return (taken ?? (await take()))?.value ?? ''
    },
  }
}

const TABLE = `${SCHEMA}.meta`
const SELECT = `SELECT field, value FROM ${TABLE} WHERE queue = $1`
const DELETE = `DELETE FROM ${TABLE} WHERE queue = $1 AND field = $2`
const INSERT = `INSERT INTO ${TABLE} (queue, field, value) VALUES ($1, $2, $3) ON CONFLICT (queue, field)`

const NO_TURNS = JSON.stringify({ nextMs: 0, pausedUntilMs: 0 })
const TAKE_TURN = `
  UPDATE ${TABLE} SET value = (
    SELECT json_build_object(
      'turnInMs', turn - now, 'pausedMs', greatest(0, paused_until - now),
      'nextMs', turn + CASE WHEN paused_until > now THEN 0 ELSE $3::float8 END, 'pausedUntilMs', paused_until)::text
    FROM (
      SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now, (value::json ->> 'nextMs')::float8 AS next,
        (value::json ->> 'pausedUntilMs')::float8 AS paused_before) AS before,
    LATERAL (
      SELECT CASE WHEN next <= now + ${FARTHEST.ms} + ${FARTHEST.turns} * $3::float8 THEN greatest(now, next) ELSE now END AS turn,
        CASE WHEN $4::float8 > 0 THEN greatest(paused_before, now + $4::float8) ELSE paused_before END AS paused_until) AS turns)
  WHERE queue = $1 AND field = $2 RETURNING field, value`

const rows = z.array(z.object({ field: z.string(), value: z.string() }))
