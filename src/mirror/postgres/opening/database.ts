import { MirrorUnusable } from '../../../errors/errors.ts'
import { shownMirror } from '../../../address/mirror-address.ts'
import { beginning } from '../connection/begin.ts'
import { openPool } from '../connection/connections.ts'
import { postgresError } from '../connection/postgres-errors.ts'
import { schemaOf } from '../connection/connection-settings.ts'
import type { Connections, Database, Client, Session } from '../session.ts'
import { onceTransactions, transaction, asError } from '../connection/transaction.ts'
import { quoted } from '../../sql/quoted.ts'
import { isDescribed, writeDictionary } from '../dictionary.ts'
import { makeFingerprintKey } from '../fingerprint-key.ts'
import { lookAtSchema, requireMirror, requireReadable, requireServer, schemaText } from './require-mirror.ts'
import { VERSION } from '../../sql/schema.ts'

/** The connections to the database at an address. */
export type Opening = { connect?: ((address: string) => Connections) | undefined }

/**
 * Opens the mirror at `address`. To write, its schema is made if there is none. Throws MirrorUnusable without having changed anything.
 */
export async function openDatabase(
  address: string,
  access: Access,
  { connect = openPool }: Opening = {},
): Promise<Database> {
  const shown = shownMirror(address)
  const connections = await described(shown, async () => connect(address))
  const database = databaseOf(connections, { address: shown, schema: schemaOf(address) })
  try {
    await openSchema(database, access)
    return access === 'write' ? database : { ...database, write: () => refuse(shown), maintain: () => refuse(shown) }
  } catch (error) {
    await database.close()
    throw error
  }
}

/** As a file that is opened to read refuses it. */
async function refuse(shown: string): Promise<never> {
  throw new MirrorUnusable(`${shown}: was opened to be read, and is not written.`, { code: 'denied' })
}

function databaseOf(connections: Connections, { address, schema }: Pick<Database, 'address' | 'schema'>): Database {
  const reading = beginning('ISOLATION LEVEL REPEATABLE READ READ ONLY', schema, SETTINGS)
  // Without READ WRITE: an administrator may have made the database read-only by its settings.
  const begin = beginning('ISOLATION LEVEL READ COMMITTED', schema, SETTINGS)
  const writing = `${begin}; SELECT pg_current_xact_id()::text AS xid`
  const write = onceTransactions(connections, { writing, reading })
  let closed: Promise<void> | undefined
  return {
    address,
    schema,
    read: (work) => described(address, () => transaction(connections, reading, work)),
    write: (work, once, isThere) => described(address, () => write(work, once, isThere)),
    maintain: (sql) => described(address, () => statementAlone(connections, reading, sql)),
    close: () => (closed ??= connections.end()),
  }
}

/** A process that is frozen must not keep others waiting. */
const SETTINGS = [
  'SET LOCAL standard_conforming_strings = on',
  'SET LOCAL array_nulls = on',
  `SET LOCAL idle_in_transaction_session_timeout = '15s'`,
  `SET LOCAL statement_timeout = '300s'`,
  'SET LOCAL jit = off',
]

/** Runs work that throws errors of PostgreSQL, and throws those of the mirror instead. */
async function described<Result>(address: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw postgresError(error, address)
  }
}

/** How long the server may take for a statement that reads whole tables. */
const LONGEST_MS = 24 * 3_600_000

/** A role may have limits that such a statement cannot keep. Another one like it may hold a lock for as long. */
const OWN_LIMITS = `SET statement_timeout = 0; SET lock_timeout = '15s'`
const LIMITS_OF_ROLE = 'RESET statement_timeout; RESET lock_timeout'

/** Runs one statement outside a transaction. `reading` begins a transaction that reads. */
async function statementAlone(connections: Connections, reading: string, sql: string): Promise<void> {
  const client = await connections.connect()
  try {
    // What is set through a pooler reaches other programs, and may not reach the statement.
    const isOurs = await isDirect(client, reading)
    if (isOurs) await client.query(OWN_LIMITS)
    await client.query(sql, undefined, { limitMs: LONGEST_MS })
    if (isOurs) await client.query(LIMITS_OF_ROLE)
    client.release()
  } catch (error) {
    client.release(asError(error))
    throw error
  }
}

/** Whether no pooler stands between, which gives its clients numbers of its own. */
async function isDirect(client: Client, reading: string): Promise<boolean> {
  if (client.process === undefined) return true
  await client.query(reading)
  const [row] = (await client.query('SELECT pg_backend_pid() AS process')).rows
  await client.query('COMMIT')
  return typeof row === 'object' && row !== null && 'process' in row && row.process === client.process
}

/** The name of the advisory lock under which mirrors are made: `CMIR`. */
const LOCK = 0x434d4952

type Access = 'read' | 'write'

/**
 * Makes the mirror in its schema to write, and requires that it is there to read. What is complete is opened without a lock and without a
 * write. Throws MirrorUnusable without having changed anything.
 */
async function openSchema(database: Database, access: Access): Promise<void> {
  const isReady = await database.read(async (session) => {
    const found = await lookAtSchema(session, database.schema)
    if (access === 'read') {
      requireReadable(found, database)
      return true
    }
    requireServer(found, database.address, access)
    requireMirror(found, database)
    return found.version !== undefined && (await isComplete(session))
  })
  if (isReady) return
  await database.write(
    (session) => complete(session, database),
    undefined,
    async (session) => (await lookAtSchema(session, database.schema)).version !== undefined,
  )
}

async function isComplete(session: Session): Promise<boolean> {
  return (await session.first('SELECT FROM fingerprint_key')) !== undefined && (await isDescribed(session))
}

/** Makes the mirror if there is none, its key, and what it says of its columns. Another program that does the same at the same time is waited for. */
async function complete(session: Session, database: Database): Promise<void> {
  await session.run('SELECT pg_advisory_xact_lock($1, hashtext($2))', LOCK, database.schema)
  const found = await lookAtSchema(session, database.schema)
  requireMirror(found, database)
  if (!found.has_schema) await session.run(`CREATE SCHEMA ${quoted(database.schema)}`)
  if (found.version === undefined) {
    await session.run(schemaText())
    await session.run('INSERT INTO mirror_schema (id, version) VALUES (1, $1)', VERSION)
  }
  // A run that starts makes it too, and does not wait for the lock.
  await makeFingerprintKey(session)
  await writeDictionary(session)
}
