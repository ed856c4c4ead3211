import { MirrorUnusable } from '../../../errors/errors.ts'
import type { Database } from '../session.ts'

/** So many damaged indexes are named at most. */
const MOST = 10

/**
 * The damage that the extension amcheck finds in the indexes of the mirror. PostgreSQL has no command of its own that looks for damage:
 * without the extension, or the right to call it, nothing is looked for, and the list is empty.
 */
export async function findDamage(database: Database): Promise<string[]> {
  const { check, indexes } = await database.read(async (session) => ({
    check: await session.first<{ name: string }>(CHECK),
    indexes: await session.all<{ oid: string; name: string }>(INDEXES, database.schema),
  }))
  const damages: string[] = []
  for (const { oid, name } of check === undefined ? [] : indexes) {
    if (damages.length === MOST) break
    try {
      await database.read((session) => session.all(`SELECT ${check?.name}($1::regclass)`, oid))
    } catch (error) {
      if (!(error instanceof MirrorUnusable && error.code === 'damaged')) throw error
      damages.push(`the index ${name} is damaged; REINDEX INDEX repairs it if its table is sound`)
    }
  }
  return damages
}

const CHECK = `
  SELECT format('%I.bt_index_check', nspname) AS name
  FROM pg_extension
    JOIN pg_depend ON refclassid = 'pg_extension'::regclass AND refobjid = pg_extension.oid AND classid = 'pg_proc'::regclass
    JOIN pg_proc ON pg_proc.oid = objid JOIN pg_namespace ON pg_namespace.oid = pronamespace
  WHERE extname = 'amcheck' AND proname = 'bt_index_check' AND pronargs = 1
    AND has_schema_privilege(pg_namespace.oid, 'USAGE') AND has_function_privilege(pg_proc.oid, 'EXECUTE')`

const INDEXES = `
  SELECT pg_class.oid::text AS oid, relname AS name
  FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
    JOIN pg_am ON pg_am.oid = relam
  WHERE nspname = $1 AND amname = 'btree' AND relkind = 'i' AND indisvalid AND indisready ORDER BY relname`
