import { shownMirror } from '../../address/mirror-address.ts'
import { beginning } from '../port/postgres-transaction.ts'
import { connectionSettings, MirrorClient, processOf, schemaOf, sessionOn } from '../port/postgres-connections.ts'
import { COLUMNS, namesIn, POSTGRES_SCHEMA, VERSION } from '../schema/schema.ts'
import { postgresError } from '../port/postgres-errors.ts'
import { lookAtSchema } from './require-mirror.ts'

/** What a server says of itself and of a mirror in it, and how it was reached. */
export type Examined = {
  /** As the server names it, such as 15.18. */
  server: string
  isEncrypted: boolean
  isPooled: boolean
  schema: string
  version: number | undefined
  /** Whether this user may write the mirror, or make it where there is none. */
  mayWrite: boolean
  mayVacuum: boolean
  isReadOnly: boolean
  /** What is found in the tables of a mirror of this version; undefined for any other. */
  tables: ExaminedTables | undefined
}

/** Asks the server at an address what it is. Writes nothing. Throws MirrorUnusable. */
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
      const examine = () => session.query<ExaminedTables>(EXAMINE_TABLES, schema, KNOWN, OURS)
      const [tables] = version === VERSION ? (await examine()).rows : []
      await client.query('COMMIT')
      return {
        ...{ server: found.server_name, schema, version, tables },
        isEncrypted: settings.ssl !== false,
        // A pooler gives its clients numbers of its own.
        isPooled: processOf(client) !== found.process,
        mayWrite: found.may_write && tables?.unwritable == null,
        mayVacuum: found.may_vacuum,
        isReadOnly: found.is_read_only,
      }
    } finally {
      await client.end().catch(() => {})
    }
  } catch (error) {
    throw postgresError(error, shown)
  }
}

/** What in the tables of a mirror would end a run. */
type ExaminedTables = {
  unwritable: string | null
  /** A column that someone added, and that is neither filled nor may be NULL; after its table and a dot. */
  unfilled: string | null
  /** Triggers, rules, constraints and unique indexes that someone added to a table of the mirror. */
  added: string[]
}

/** Every table, with its columns; those without any here hold nothing that a run writes. */
const KNOWN = JSON.stringify({ ...COLUMNS, ...{ mirror_schema: [], commits: [], leases: [], dictionary: [] } })

/** What a new mirror has of triggers, constraints and unique indexes. */
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
const EXAMINE_TABLES = `
  WITH held AS (
    SELECT known.name, known.columns, pg_class.oid
    FROM json_each($2::json) AS known (name, columns)
      LEFT JOIN pg_class ON relname = known.name AND relkind IN ('r', 'p')
        AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)
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
        UNION ALL SELECT 'rule', rulename FROM pg_rewrite WHERE ev_class = held.oid
        UNION ALL SELECT 'constraint', conname FROM pg_constraint
          WHERE conrelid = held.oid AND contype IN ('c', 'u', 'x', 'f') OR confrelid = held.oid AND contype = 'f'
        UNION ALL SELECT 'unique index', relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
          WHERE indrelid = held.oid AND indisunique AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
      ) AS added WHERE NOT added.name::text = ANY ($3::text[]) ORDER BY 1
    ) AS added`
