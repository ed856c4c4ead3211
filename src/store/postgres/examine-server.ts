import { shownMirror } from '../../address/mirror-address.ts'
import { MirrorUnusable } from '../../errors/errors.ts'
import { mirrorFault, noMirror } from '../../errors/faults.ts'
import {
  connectionSettings,
  type Database,
  MirrorClient,
  processOf,
  schemaOf,
  type ServerSession,
  sessionOn,
} from '../port/postgres-connections.ts'
import { postgresError } from '../port/postgres-errors.ts'
import { beginning } from '../port/postgres-transaction.ts'
import { COLUMNS, incomplete, namesIn, otherVersion, POSTGRES_SCHEMA, SHAPES, VERSION } from '../schema/schema.ts'

/** What a server says of itself and of a mirror in it, and how it was reached. */
export type Examined = {
  server: string
  isEncrypted: boolean
  isPooled: boolean
  schema: string
  version: number | undefined
  mayWrite: boolean
}

/** Asks the server at an address what it is. Writes nothing. Throws MirrorUnusable, also where nothing can be written. */
export async function examineServer(address: string): Promise<Examined> {
  const shown = shownMirror(address)
  try {
    const settings = connectionSettings(address)
    const client = new MirrorClient({ ...settings, connectionTimeoutMillis: 15_000, query_timeout: 15_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      const schema = schemaOf(address)
      await client.query(beginning('READ ONLY', schema, [`SET LOCAL statement_timeout = '15s'`]))
      const session = sessionOn(client)
      const found = await lookAtSchema(session, schema)
      const { version } = found
      requireServer(found, shown, 'write')
      const tables = version === VERSION ? (await session.query(UNWRITABLE, schema, TABLES)).rows : []
      await client.query('COMMIT')
      return {
        ...{ server: found.server_name, schema, version },
        isEncrypted: settings.ssl !== false,
        // A pooler gives its clients numbers of its own.
        isPooled: processOf(client) !== found.process,
        mayWrite: found.may_write && tables.length === 0,
      }
    } finally {
      await client.end().catch(() => {})
    }
  } catch (error) {
    throw postgresError(error, shown)
  }
}

const TABLES = [...Object.keys(COLUMNS), 'mirror_schema', 'commits', 'leases', 'dictionary']

/** The tables of a mirror to which this user lacks a right. */
const UNWRITABLE = `
  SELECT relname FROM pg_class, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS needed
  WHERE relname = ANY ($2::text[]) AND relkind IN ('r', 'p') AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)
    AND NOT has_table_privilege(pg_class.oid, needed)`

const NAMES = namesIn(POSTGRES_SCHEMA)

/** The oldest server that has what is used here, as it numbers itself. */
const OLDEST_SERVER = 140_000

/** What a server says of itself, and of the schema of a mirror. */
export type Found = {
  server: number
  /** As the server names it, such as 15.18. */
  server_name: string
  process: number
  encoding: string
  is_read_only: boolean
  has_schema: boolean
  /** Whether this user may use the schema; its tables cannot be found otherwise. */
  may_use: boolean
  /** Whether this user may write the mirror, or make it where there is none. */
  may_write: boolean
  is_marked: boolean
  /** Tables and views in it, except those of extensions. */
  relations: string[]
  triggers: string[]
  /** A column of a table or a view of a mirror that is not there, after its table and a dot. */
  lacking: string | null
  version: number | undefined
}

type Place = Pick<Database, 'place' | 'schema'>

/** Looks at the server and at the schema of a mirror. */
export async function lookAtSchema(session: Pick<ServerSession, 'query'>, schema: string): Promise<Found> {
  const [found] = (await session.query<Omit<Found, 'version'>>(LOOK, schema, JSON.stringify(SHAPES))).rows
  if (found === undefined) throw new Error('the server did not describe itself')
  if (!found.is_marked || !found.may_use) return { ...found, version: undefined }
  const [stored] = (await session.query<{ version: number }>('SELECT version FROM mirror_schema')).rows
  return { ...found, version: stored?.version ?? 0 }
}

const LOOK = `
  SELECT current_setting('server_version_num')::int AS server, split_part(current_setting('server_version'), ' ', 1) AS server_name,
    pg_backend_pid() AS process, current_setting('server_encoding') AS encoding,
    (pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on') AS is_read_only,
    space.oid IS NOT NULL AS has_schema, coalesce(has_schema_privilege(space.oid, 'USAGE'), true) AS may_use,
    CASE
      WHEN mirror.oid IS NOT NULL THEN has_schema_privilege(space.oid, 'USAGE') AND has_table_privilege(mirror.oid, 'UPDATE')
      WHEN space.oid IS NOT NULL THEN has_schema_privilege(space.oid, 'CREATE')
      ELSE has_database_privilege(current_database(), 'CREATE')
    END AS may_write,
    mirror.oid IS NOT NULL AS is_marked,
    ARRAY(SELECT relname::text FROM pg_class
      WHERE relnamespace = space.oid AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
        AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')) AS relations,
    ARRAY(SELECT tgname::text FROM pg_trigger WHERE tgrelid = to_regclass('customers')) AS triggers,
    (SELECT min(shape.name || '.' || needed)
      FROM json_each($2::json) AS shape (name, columns), json_array_elements_text(columns) AS needed,
        LATERAL (SELECT oid FROM pg_class WHERE relname = shape.name AND relnamespace = space.oid) AS held
      WHERE NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = held.oid AND attname = needed AND NOT attisdropped)) AS lacking
  FROM (SELECT $1::text AS name) AS asked
  LEFT JOIN pg_namespace AS space ON space.nspname = asked.name
  LEFT JOIN pg_class AS mirror ON mirror.relnamespace = space.oid AND mirror.relname = 'mirror_schema' AND mirror.relkind = 'r' AND EXISTS (
    SELECT FROM pg_attribute WHERE attrelid = mirror.oid AND attname = 'version' AND atttypid = 'int4'::regtype)`

/** Throws MirrorUnusable unless a mirror can be on such a server. */
export function requireServer(
  { server, server_name, encoding, is_read_only }: Found,
  address: string,
  access: 'read' | 'write',
) {
  if (server < OLDEST_SERVER) {
    throw new MirrorUnusable(
      `${address}: is a PostgreSQL ${server_name}, and a mirror needs 14 or newer. Upgrade it, or name another server.`,
      { code: 'denied' },
    )
  }
  if (encoding !== 'UTF8') {
    throw new MirrorUnusable(
      `${address}: the database stores text as ${encoding}, which cannot hold every name. Name one that was created with ENCODING 'UTF8'.`,
      { code: 'denied' },
    )
  }
  if (access === 'write' && is_read_only) {
    throw new MirrorUnusable(
      `${address}: the server accepts no writes: it is a standby, or read-only by its settings (default_transaction_read_only). ` +
        'Name the primary server as mirror, or make this one writable.',
      { code: 'denied' },
    )
  }
}

/** Throws MirrorUnusable unless the schema is empty, or holds a mirror that this program knows. */
export function requireMirror(
  { is_marked, may_use, relations, triggers, lacking, version }: Found,
  { place: address, schema }: Place,
): void {
  if (!may_use) {
    throw new MirrorUnusable(
      `${address}: this user may not use the schema ${schema}. Let it own the schema, or GRANT it USAGE there, and SELECT to read.`,
      { code: 'denied' },
    )
  }
  if (!is_marked && relations.length > 0) {
    throw new MirrorUnusable(
      `${address}: the schema ${schema} holds tables that are not a mirror of ours. It was left as it is; name another schema, ` +
        `for example ?schema=${schema}_2.`,
      { code: 'foreign' },
    )
  }
  if (version === undefined) return
  if (version !== VERSION) throw otherVersion(address, version)
  const held = new Set([...relations, ...triggers])
  const missing = NAMES.filter((name) => !held.has(name))
  if (missing.length > 0) throw incomplete(address, missing)
  if (lacking !== null)
    throw mirrorFault(
      address,
      { fault: 'foreign', said: `lacks the column ${lacking}, which was renamed or dropped` },
      { where: 'postgres' },
    )
}

/** Throws MirrorUnusable unless there is a mirror that this program can read. */
export function requireReadable(found: Found, place: Place): void {
  requireServer(found, place.place, 'read')
  requireMirror(found, place)
  if (found.version !== undefined) return
  throw noMirror(place.place)
}
