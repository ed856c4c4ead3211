import { MirrorUnusable } from '../../../errors/errors.ts'
import { shownMirror } from '../../../address/mirror-address.ts'
import { beginning } from '../connection/begin.ts'
import { openPool } from '../connection/connections.ts'
import { openSchema, type Access } from './open-schema.ts'
import { postgresError } from '../connection/postgres-errors.ts'
import { schemaOf } from '../connection/connection-settings.ts'
import type { Connections, Database } from '../session.ts'
import { statementAlone } from '../connection/statement-alone.ts'
import { onceTransactions, transaction } from '../connection/transaction.ts'

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
