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
} from '../port/postgres-connections.ts'
import { postgresError } from '../port/postgres-errors.ts'
import { beginning, sessionOn } from '../port/postgres-transaction.ts'
import { sql, text } from '../port/sql.ts'
import { mayVacuum } from './vacuum.ts'
import { COLUMNS, incomplete, namesIn, otherVersion, POSTGRES_SCHEMA, SHAPES, VERSION } from '../schema/schema.ts'

/**
 * What the server at an address says of itself and of a mirror in it, and how it was reached. `tables` only of a mirror of this version. Writes
 * nothing. Throws MirrorUnusable, also as a run would that writes there.
 */
export async function examineServer(address: string) {
  const shown = shownMirror(address)
  try {
    const settings = connectionSettings(address)
    const client = new MirrorClient({ ...settings, query_timeout: 15_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      const schema = schemaOf(address)
      await client.query(beginning('READ ONLY', schema, [`SET LOCAL statement_timeout = '15s'`]))
      const session = sessionOn(client)
      const found = await lookAtSchema(session, schema)
      requireMirror(found, { place: shown, schema }, 'write')
      const tables = found.version === VERSION ? await examineTables(session, schema) : undefined
      await client.query('COMMIT')
      // A pooler gives its clients numbers of its own.
      const isPooled = processOf(client) !== found.process
      return { ...found, schema, tables, isPooled, isEncrypted: settings.ssl !== false }
    } finally {
      await client.end().catch(() => {})
    }
  } catch (error) {
    throw postgresError(error, shown)
  }
}

type ExaminedTables = {
  unwritable: string | null
  /** A column that someone added, and that is neither filled nor may be NULL; after its table and a dot. */
  unfilled: string | null
  /** Triggers, rules, constraints and unique indexes that someone added to a table of the mirror. */
  added: string[]
}

/** Every table, with its columns; those without any here hold nothing that a run writes. */
const KNOWN = JSON.stringify({ ...COLUMNS, ...{ mirror_schema: [], commits: [], leases: [], dictionary: [] } })

const OURS = [
  ...namesIn(POSTGRES_SCHEMA),
  ...Array.from(POSTGRES_SCHEMA.matchAll(/^CREATE UNIQUE INDEX (\w+)/gm), ([, name]) => name),
  ...Array.from(POSTGRES_SCHEMA.matchAll(/^CREATE TABLE (\w+) \(\n(.*?)\n\)/gms), ([, table, body = '']) => [
    ...Array.from(body.matchAll(/^ {2}"?(\w+)"? .*\bCHECK \(/gm), ([, column]) => `${table}_${column}_check`),
    ...Array.from(body.matchAll(/^ {2}(\w+) .*\bREFERENCES /gm), ([, column]) => `${table}_${column}_fkey`),
    ...Array.from(
      body.matchAll(/^ {2}UNIQUE \((.*)\)/gm),
      ([, columns = '']) => `${table}_${columns.replaceAll(', ', '_')}_key`,
    ),
  ]).flat(),
]

/** What a trigger before INSERT may fill is left to it. */
function examineTables(session: ServerSession, schema: string): Promise<ExaminedTables | undefined> {
  return session.first(sql`
    WITH held AS (
      SELECT known.name, known.columns, pg_class.oid
      FROM json_each(${KNOWN}::json) AS known (name, columns)
        LEFT JOIN pg_class ON relname = known.name AND relkind IN ('r', 'p')
          AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = ${schema})
    )
    SELECT
      (SELECT min(name) FROM held, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS needed
       WHERE NOT has_table_privilege(held.oid, needed)) AS unwritable,
      (SELECT min(name || '.' || attname) FROM held JOIN pg_attribute ON attrelid = held.oid
       WHERE json_array_length(columns) > 0 AND attnum > 0 AND attnotnull AND NOT atthasdef AND attidentity = '' AND NOT attisdropped
         AND attname NOT IN (SELECT json_array_elements_text(columns))
         AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = held.oid AND NOT tgisinternal AND tgtype & 6 = 6)) AS unfilled,
      ARRAY(
        SELECT kind || ' ' || added.name || ' on ' || held.name FROM held, LATERAL (
          SELECT 'trigger' AS kind, tgname AS name FROM pg_trigger WHERE tgrelid = held.oid AND NOT tgisinternal
          UNION ALL SELECT 'row level security', 'in force' WHERE row_security_active(held.oid)
          UNION ALL SELECT 'rule', rulename FROM pg_rewrite WHERE ev_class = held.oid
          UNION ALL SELECT 'constraint', conname FROM pg_constraint
            WHERE conrelid = held.oid AND contype IN ('c', 'u', 'x', 'f') OR confrelid = held.oid AND contype = 'f'
          UNION ALL SELECT 'unique index', relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
            WHERE indrelid = held.oid AND indisunique AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
        ) AS added WHERE NOT added.name::text = ANY (${OURS}::text[]) ORDER BY 1
      ) AS added`)
}

const NAMES = namesIn(POSTGRES_SCHEMA)

/** The oldest server that has what is used here, as it numbers itself. */
const OLDEST_SERVER = 140_000

/** What a server says of itself, and of the schema of a mirror. */
type Found = {
  server: number
  /** As the server names it, such as 15.18. */
  server_name: string
  process: number
  encoding: string
  is_read_only: boolean
  has_schema: boolean
  /** Whether this user may use the schema; its tables cannot be found otherwise. */
  may_use: boolean
  /** Whether this user may write the mirror, or make it where there is none, and have the server free what deleted rows held. */
  may_write: boolean
  may_vacuum: boolean
  is_marked: boolean
  /** Tables and views in it, except those of extensions. */
  relations: string[]
  triggers: string[]
  /** A column of a table or a view of a mirror that is not there, after its table and a dot. */
  lacking: string | null
  version: number | undefined
}

export async function lookAtSchema(session: ServerSession, schema: string): Promise<Found> {
  const found = await session.first<Omit<Found, 'version'>>(look(schema))
  if (found === undefined) throw new Error('the server did not describe itself')
  if (!found.is_marked || !found.may_use) return { ...found, version: undefined }
  const stored = await session.first<{ version: number }>(sql`SELECT version FROM mirror_schema`)
  return { ...found, version: stored?.version ?? 0 }
}

const look = (schema: string) => sql`
  SELECT current_setting('server_version_num')::int AS server, split_part(current_setting('server_version'), ' ', 1) AS server_name,
    pg_backend_pid() AS process, current_setting('server_encoding') AS encoding,
    (pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on') AS is_read_only,
    space.oid IS NOT NULL AS has_schema, coalesce(has_schema_privilege(space.oid, 'USAGE'), true) AS may_use,
    CASE
      WHEN mirror.oid IS NOT NULL THEN has_schema_privilege(space.oid, 'USAGE') AND has_table_privilege(mirror.oid, 'UPDATE')
      WHEN space.oid IS NOT NULL THEN has_schema_privilege(space.oid, 'CREATE')
      ELSE has_database_privilege(current_database(), 'CREATE')
    END AS may_write,
    mirror.oid IS NULL OR ${text(mayVacuum('mirror'))} AS may_vacuum,
    mirror.oid IS NOT NULL AS is_marked,
    ARRAY(SELECT relname::text FROM pg_class
      WHERE relnamespace = space.oid AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
        AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')) AS relations,
    ARRAY(SELECT tgname::text FROM pg_trigger WHERE tgrelid = to_regclass('customers')) AS triggers,
    (SELECT min(shape.name || '.' || needed)
      FROM json_each(${JSON.stringify(SHAPES)}::json) AS shape (name, columns), json_array_elements_text(columns) AS needed,
        LATERAL (SELECT oid FROM pg_class WHERE relname = shape.name AND relnamespace = space.oid) AS held
      WHERE NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = held.oid AND attname = needed AND NOT attisdropped)) AS lacking
  FROM (SELECT ${schema}::text AS name) AS asked
  LEFT JOIN pg_namespace AS space ON space.nspname = asked.name
  LEFT JOIN pg_class AS mirror ON mirror.relnamespace = space.oid AND mirror.relname = 'mirror_schema' AND mirror.relkind = 'r' AND EXISTS (
    SELECT FROM pg_attribute WHERE attrelid = mirror.oid AND attname = 'version' AND atttypid = 'int4'::regtype)`

/** Throws MirrorUnusable unless the server has a mirror in the schema that this program knows, or one can be made there to write. */
export function requireMirror(
  { server, server_name, encoding, is_read_only, is_marked, may_use, relations, triggers, lacking, version }: Found,
  { place: address, schema }: Pick<Database, 'place' | 'schema'>,
  access: 'read' | 'write',
) {
  const refuse = (said: string, code: 'denied' | 'foreign' = 'denied') => {
    throw new MirrorUnusable(`${address}: ${said}`, { code })
  }
  if (server < OLDEST_SERVER)
    refuse(`is a PostgreSQL ${server_name}, and a mirror needs 14 or newer. Upgrade it, or name another server.`)
  if (encoding !== 'UTF8')
    refuse(
      `the database stores text as ${encoding}, which cannot hold every name. Name one that was created with ENCODING 'UTF8'.`,
    )
  if (access === 'write' && is_read_only)
    refuse(
      'the server accepts no writes: it is a standby, or read-only by its settings (default_transaction_read_only). ' +
        'Name the primary server as mirror, or make this one writable.',
    )
  if (!may_use)
    refuse(`this user may not use the schema ${schema}. Let it own that, or GRANT it USAGE there, and SELECT to read.`)
  if (!is_marked && relations.length > 0) {
    const said = `the schema ${schema} holds tables that are not a mirror of ours. It was left as it is; name another schema, `
    refuse(`${said}for example ?schema=${schema}_2.`, 'foreign')
  }
  if (version === undefined && access === 'read') throw noMirror(address)
  if (version === undefined) return
  if (version !== VERSION) throw otherVersion(address, version)
  const held = new Set([...relations, ...triggers])
  const missing = NAMES.filter((name) => !held.has(name))
  if (missing.length > 0) throw incomplete(address, missing)
  const said = `lacks the column ${lacking}, which was renamed or dropped`
  if (lacking !== null) throw mirrorFault(address, { fault: 'foreign', said }, { where: 'postgres' })
}
