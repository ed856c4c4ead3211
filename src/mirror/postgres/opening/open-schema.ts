import { quoted } from '../../sql/quoted.ts'
import { isDescribed, writeDictionary } from '../dictionary.ts'
import { makeFingerprintKey } from '../fingerprint-key.ts'
import { lookAtSchema, requireMirror, requireReadable, requireServer, schemaText } from './require-mirror.ts'
import type { Database, Session } from '../session.ts'
import { VERSION } from '../../sql/schema.ts'

/** The name of the advisory lock under which mirrors are made: `CMIR`. */
const LOCK = 0x434d4952

export type Access = 'read' | 'write'

/**
 * Makes the mirror in its schema to write, and requires that it is there to read. What is complete is opened without a lock and without a
 * write. Throws MirrorUnusable without having changed anything.
 */
export async function openSchema(database: Database, access: Access): Promise<void> {
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
