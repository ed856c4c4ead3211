import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { MirrorUnusable } from '../../errors.ts'
import { KEY_BYTES } from '../../fingerprint.ts'
import { quoted } from './quoted.ts'
import type { Database, Session } from './session.ts'

/** The migrations in order; a file's place here is the version after it. */
const MIGRATIONS = ['0001-initial.sql', '0002-reading.sql']

export const LATEST_VERSION = MIGRATIONS.length

/** The oldest server that has what is used here, as it numbers itself, and as people do. */
const OLDEST_SERVER = { number: 140_000, name: '14' }

/** The name of the advisory lock under which mirrors are made and migrated: `CMIR`. */
const LOCK = 0x434d4952

/** What a mirror has to hold beside its tables. It is written in the transaction that makes or migrates them, or in one of its own. */
export type Completion = {
  isThere: (session: Session) => Promise<boolean>
  write: (session: Session) => Promise<void>
}

const NOTHING: Completion = { isThere: async () => true, write: async () => {} }

/**
 * Makes or migrates the mirror in its schema, or requires that it is there. What is complete is opened without a lock and without a
 * write. Throws MirrorUnusable without having changed anything.
 */
export async function openSchema(
  database: Database,
  access: 'read' | 'write',
  completion: Completion = NOTHING,
): Promise<void> {
  const { found, isReady } = await database.read(async (session) => {
    const seen = await look(session, database.schema)
    return {
      found: seen,
      isReady: seen.version === LATEST_VERSION && (access === 'read' || (await isComplete(session, completion))),
    }
  })
  requireServer(found, database.address, access)
  requireMirror(found, database)
  if (access === 'read' && found.version === 0) {
    throw new MirrorUnusable(`${database.address}: there is no mirror yet. Run 'customer-mirror sync' to make it.`, {
      code: 'missing',
    })
  }
  if (!isReady) await database.write((session) => migrate(session, database, completion))
}

async function isComplete(session: Session, { isThere }: Completion): Promise<boolean> {
  return (await session.first('SELECT FROM fingerprint_key')) !== undefined && (await isThere(session))
}

type Found = {
  server: number
  encoding: string
  is_read_only: boolean
  has_schema: boolean
  /** Whether this user may use the schema; its tables cannot be found otherwise. */
  may_use: boolean
  /** Whether the schema has the mark of a mirror. */
  is_marked: boolean
  /** Tables and views in it, except those of extensions. */
  relations: number
  /** 0 before the first migration. */
  version: number
}

async function look(session: Session, schema: string): Promise<Found> {
  const found = await session.first<Omit<Found, 'version'>>(LOOK, schema)
  if (found === undefined) throw new Error('the server did not describe itself')
  if (!found.is_marked || !found.may_use) return { ...found, version: 0 }
  const stored = await session.first<{ version: number }>('SELECT version FROM mirror_schema')
  return { ...found, version: stored?.version ?? 0 }
}

const LOOK = `
  SELECT current_setting('server_version_num')::int AS server,
    current_setting('server_encoding') AS encoding,
    pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on' AS is_read_only,
    EXISTS (SELECT FROM pg_namespace WHERE nspname = $1) AS has_schema,
    coalesce((SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = $1), true) AS may_use,
    count(*) FILTER (WHERE relname = 'mirror_schema') > 0 AS is_marked,
    count(*) AS relations
  FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE nspname = $1 AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
    AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')`

function requireServer({ server, encoding, is_read_only }: Found, address: string, access: 'read' | 'write'): void {
  if (server < OLDEST_SERVER.number) {
    const name =
      server < 100_000
        ? `${Math.floor(server / 10_000)}.${Math.floor(server / 100) % 100}`
        : Math.floor(server / 10_000)
    throw new MirrorUnusable(
      `${address}: is a PostgreSQL ${name}, and a mirror needs ${OLDEST_SERVER.name} or newer. Upgrade it, or name another server.`,
      { code: 'unreadable' },
    )
  }
  if (encoding !== 'UTF8') {
    throw new MirrorUnusable(
      `${address}: the database stores text as ${encoding}, which cannot hold every name. Name one that was created with ENCODING 'UTF8'.`,
      { code: 'unreadable' },
    )
  }
  if (access === 'write' && is_read_only) {
    throw new MirrorUnusable(
      `${address}: the server accepts no writes: it is a standby, or read-only by its settings (default_transaction_read_only). ` +
        'Name the primary server as mirror, or make this one writable.',
      { code: 'read-only' },
    )
  }
}

function requireMirror({ is_marked, may_use, relations, version }: Found, { address, schema }: Database): void {
  if (!may_use) {
    throw new MirrorUnusable(
      `${address}: this user may not use the schema ${schema}. Let it own the schema, or GRANT it USAGE there, and SELECT to read.`,
      { code: 'unreadable' },
    )
  }
  if (!is_marked && relations > 0) {
    throw new MirrorUnusable(
      `${address}: the schema ${schema} holds tables that are not a mirror of ours. It was left as it is; name another schema, ` +
        `for example ?schema=${schema}_2.`,
      { code: 'foreign' },
    )
  }
  if (version <= LATEST_VERSION) return
  throw new MirrorUnusable(
    `${address}: was written by a newer Customer Mirror (its version is ${version}, this program knows ${LATEST_VERSION}). ` +
      'Upgrade this program, or name another schema.',
    { code: 'newer' },
  )
}

/** Applies the missing migrations, and makes the key. Another program that does the same at the same time is waited for. */
async function migrate(session: Session, database: Database, completion: Completion): Promise<void> {
  await session.run('SELECT pg_advisory_xact_lock($1, hashtext($2))', LOCK, database.schema)
  const found = await look(session, database.schema)
  requireMirror(found, database)
  if (!found.has_schema) await session.run(`CREATE SCHEMA ${quoted(database.schema)}`)
  for (const name of MIGRATIONS.slice(found.version)) {
    await session.run(readFileSync(new URL(`migrations/${name}`, import.meta.url), 'utf8'))
  }
  if (found.version < LATEST_VERSION) {
    await session.run(
      'INSERT INTO mirror_schema (id, version) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET version = excluded.version',
      LATEST_VERSION,
    )
  }
  const key = 'INSERT INTO fingerprint_key (id, key) SELECT 1, $1 WHERE NOT EXISTS (SELECT FROM fingerprint_key)'
  await session.run(key, randomBytes(KEY_BYTES))
  await completion.write(session)
}
