import { randomBytes } from 'node:crypto'
import { shownMirror } from '../../address/mirror-address.ts'
import { MirrorUnusable } from '../../errors/errors.ts'
import { KEY_BYTES } from '../../model/fingerprint.ts'
import type { Opening } from '../../model/mirror.ts'
import { savingIn } from '../pages/save-in-postgres.ts'
import { type Connections, type Database, openPool, schemaOf } from '../port/postgres-connections.ts'
import { postgresError } from '../port/postgres-errors.ts'
import { beginning, onceTransactions, statementAlone, transaction } from '../port/postgres-transaction.ts'
import { quoted, sql, text } from '../port/sql.ts'
import { lookAtSchema, requireMirror } from './examine-server.ts'
import { vacuum } from './vacuum.ts'
import { dictionary, POSTGRES_SCHEMA, VERSION } from '../schema/schema.ts'
import { mirrorOn, type Mirror } from '../verbs.ts'

export async function openMirror(address: string, { signal }: Opening = {}): Promise<Mirror> {
  return mirrorOf(await openDatabase(address, 'write', (server) => openPool(server, signal)))
}

export async function openMirrorToRead(address: string): Promise<Mirror> {
  return mirrorOf(await openDatabase(address, 'read'))
}

export function mirrorOf(database: Database): Mirror {
  return mirrorOn(database, { savePages: savingIn(database) })
}

/** Opens the mirror at `address`, which is made to write if there is none. Throws MirrorUnusable without having changed anything. */
export async function openDatabase(
  address: string,
  access: 'read' | 'write',
  connect: (address: string) => Connections = openPool,
): Promise<Database> {
  const [place, schema] = [shownMirror(address), schemaOf(address)]
  const toRead = beginning('ISOLATION LEVEL REPEATABLE READ READ ONLY', schema, SETTINGS)
  // Without READ WRITE: an administrator may have made the database read-only by its settings.
  const toWrite = beginning('ISOLATION LEVEL READ COMMITTED', schema, SETTINGS)
  const connections = await described(place, async () => connect(address))
  const write = onceTransactions(connections, toWrite)
  let closed: Promise<void> | undefined
  const database: Database = {
    kind: 'postgres',
    place,
    schema,
    read: (work) => described(place, () => transaction(connections, toRead, work, { onlyReads: true })),
    write: (work, _writing, once) => described(place, () => write(work, once)),
    make: (work) => described(place, () => transaction(connections, toWrite, work)),
    maintain: (statement) => described(place, () => statementAlone(connections, toRead, statement)),
    purge: (tables) => vacuum(database, tables),
    settle: async () => true,
    close: () => (closed ??= connections.end()),
  }
  try {
    await openSchema(database, access)
  } catch (error) {
    await database.close()
    throw error
  }
  if (access === 'write') return database
  const refuse = async (): Promise<never> => {
    throw new MirrorUnusable(`${place}: was opened to be read, and is not written.`, { code: 'denied' })
  }
  return { ...database, write: refuse, make: refuse, maintain: refuse }
}

/** A process that is frozen must not keep others waiting. */
const SETTINGS = [
  'SET LOCAL standard_conforming_strings = on',
  'SET LOCAL array_nulls = on',
  `SET LOCAL idle_in_transaction_session_timeout = '15s'`,
  `SET LOCAL statement_timeout = '300s'`,
  'SET LOCAL jit = off',
]

async function described<Result>(address: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw postgresError(error, address)
  }
}

const LOCK = 0x434d4952

/** To write, makes the mirror if there is none, or the key that it lacks, which is found out without a lock or a write. Throws MirrorUnusable. */
async function openSchema(database: Database, access: 'read' | 'write') {
  const isReady = await database.read(async (session) => {
    const found = await lookAtSchema(session, database.schema)
    requireMirror(found, database, access)
    if (access === 'read') return true
    return found.version !== undefined && (await session.first(sql`SELECT FROM fingerprint_key`)) !== undefined
  })
  if (isReady) return
  await database.make(async (session) => {
    // Another program that does the same at the same time is waited for.
    await session.run(sql`SELECT pg_advisory_xact_lock(${LOCK}, hashtext(${database.schema}))`)
    const found = await lookAtSchema(session, database.schema)
    requireMirror(found, database, 'write')
    if (!found.has_schema) await session.run(text(`CREATE SCHEMA ${quoted(database.schema)}`))
    if (found.version === undefined) {
      await session.run(text(POSTGRES_SCHEMA + dictionary('postgres')))
      await session.run(sql`INSERT INTO mirror_schema (id, version) VALUES (1, ${VERSION})`)
    }
    // A run that starts makes it too, and does not wait for the lock.
    const key = randomBytes(KEY_BYTES)
    await session.run(sql`INSERT INTO fingerprint_key (id, key) VALUES (1, ${key}) ON CONFLICT DO NOTHING`)
  })
}
