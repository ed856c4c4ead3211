import { MirrorUnusable } from '../../../errors/errors.ts'
import { quoted } from '../../sql/quoted.ts'
import { isDescribed, writeDictionary } from '../dictionary.ts'
import { makeFingerprintKey } from '../fingerprint-key.ts'
import { makeMissingViews, missingViews } from './missing-views.ts'
import { lookAtSchema, requireMirror, requireReadable, requireServer } from './require-mirror.ts'
import type { Database, Session } from '../session.ts'
import { LATEST_VERSION, migration, MIGRATIONS } from './versions.ts'

/** The name of the advisory lock under which mirrors are made and migrated: `CMIR`. */
const LOCK = 0x434d4952

/** `as-it-is`: to read, and an older mirror is not migrated. */
export type Access = 'as-it-is' | 'read' | 'write'

/**
 * Makes or migrates the mirror in its schema, or requires that it is there; `as-it-is` leaves an older one alone. What is complete is opened
 * without a lock and without a write. Throws MirrorUnusable without having changed anything.
 */
export async function openSchema(database: Database, access: Access): Promise<void> {
  const isReady = await database.read(async (session) => {
    const found = await lookAtSchema(session, database.schema)
    if (access === 'write') {
      requireServer(found, database.address, access)
      requireMirror(found, database)
      return found.version === LATEST_VERSION && (await isComplete(session))
    }
    requireReadable(found, database)
    if (access === 'as-it-is') return true
    if (found.version < LATEST_VERSION && found.is_read_only)
      throw new MirrorUnusable(`${database.address}: ${OLDER}`, { code: 'read-only' })
    return found.version === LATEST_VERSION
  })
  if (isReady) return
  await database.write(
    (session) => migrate(session, database),
    undefined,
    async (session) => (await lookAtSchema(session, database.schema)).version === LATEST_VERSION,
  )
}

const OLDER =
  "the mirror is of an older version, and the server accepts no writes. Run 'customer-mirror status' once with the primary server as mirror, which brings it to this version."

async function isComplete(session: Session): Promise<boolean> {
  if ((await session.first('SELECT FROM fingerprint_key')) === undefined || !(await isDescribed(session))) return false
  // A run that may make none needs none.
  return !(await missingViews(session)).some(({ can_make }) => can_make)
}

/** Applies the missing migrations, and makes the key and views that were dropped. Another program that does the same at the same time is waited for. */
async function migrate(session: Session, database: Database): Promise<void> {
  await session.run('SELECT pg_advisory_xact_lock($1, hashtext($2))', LOCK, database.schema)
  const found = await lookAtSchema(session, database.schema)
  requireMirror(found, database)
  if (found.version > 0 && found.version < LATEST_VERSION) await requireOwner(session, database.address)
  if (!found.has_schema) await session.run(`CREATE SCHEMA ${quoted(database.schema)}`)
  for (const name of MIGRATIONS.slice(found.version)) await session.run(migration(name))
  if (found.version < LATEST_VERSION) {
    await session.run(
      'INSERT INTO mirror_schema (id, version) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET version = excluded.version',
      LATEST_VERSION,
    )
  }
  // A run that starts makes it too, and does not wait for the lock.
  await makeFingerprintKey(session)
  await makeMissingViews(session)
  await writeDictionary(session)
}

/** Rights to read or to write the tables are not enough to change them, and a user who has those needs no others. */
async function requireOwner(session: Session, address: string): Promise<void> {
  const other = await session.first<{ owner: string }>(
    `SELECT pg_get_userbyid(relowner) AS owner FROM pg_class
     WHERE oid = 'mirror_schema'::regclass AND NOT pg_has_role(relowner, 'USAGE')`,
  )
  if (other === undefined) return
  throw new MirrorUnusable(
    `${address}: the mirror is of an older version, and this user does not own it, so cannot bring it to the version of this program. ` +
      `Run 'customer-mirror status' once as its owner, who is ${other.owner}; the rights of other users stay as they are.`,
    { code: 'unreadable' },
  )
}
