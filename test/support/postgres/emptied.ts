import { openDatabase } from '../../../src/store/postgres/open-database.ts'
import { anAddress, pgliteConnections, startPglite } from '../pglite-connections.ts'

/** The mirror that the tests of a process have one after the other, with the tables, indexes and views that it had when it was made. */
let kept: { address: string; schema: string; objects: string } | undefined

/**
 * The address of a mirror without rows, as it was just made. To empty the one of the test before takes a tenth of the time that it takes
 * to make one; if that test changed its tables or indexes, another one is made. A test has one at a time.
 */
export async function anEmptyMirror(): Promise<string> {
  const server = await startPglite()
  if (kept !== undefined) await server.exec(emptying(kept.schema))
  if (kept !== undefined && (await objectsOf(kept.schema)) !== kept.objects) {
    await server.exec(`DROP SCHEMA ${kept.schema} CASCADE`)
    kept = undefined
  }
  kept ??= await make()
  return kept.address
}

async function make(): Promise<NonNullable<typeof kept>> {
  const address = anAddress()
  const server = await startPglite()
  const { schema } = await openDatabase(address, 'write', {
    connect: () => pgliteConnections(server),
  })
  return { address, schema, objects: await objectsOf(schema) }
}

async function objectsOf(schema: string): Promise<string> {
  const server = await startPglite()
  const { rows } = await server.query(
    `SELECT relname, relkind FROM pg_class WHERE relnamespace = $1::regnamespace ORDER BY 1`,
    [schema],
  )
  return JSON.stringify(rows)
}

/** Without the triggers of the mirror. What stays is the version and the dictionary; opening the mirror makes a key. */
function emptying(schema: string): string {
  return `DO $$
    DECLARE found record;
    BEGIN
      PERFORM set_config('session_replication_role', 'replica', true);
      FOR found IN SELECT relkind, relname, format('%I.%I', relnamespace::regnamespace::text, relname) AS name FROM pg_class
        WHERE relnamespace = '${schema}'::regnamespace AND relname NOT IN ('mirror_schema', 'dictionary', 'last_update')
      LOOP
        IF found.relkind = 'r' THEN EXECUTE 'DELETE FROM ' || found.name; END IF;
        IF found.relkind = 'S' THEN PERFORM setval(found.name::regclass, 1, false); END IF;
      END LOOP;
      -- As in tables that were never analyzed: a test may have analyzed them while they held a few rows.
      UPDATE pg_class SET reltuples = -1, relpages = 0, relallvisible = 0
        WHERE relnamespace = '${schema}'::regnamespace AND relkind IN ('r', 'i');
      DELETE FROM pg_statistic WHERE starelid IN (SELECT oid FROM pg_class WHERE relnamespace = '${schema}'::regnamespace);
      UPDATE ${schema}.last_update SET updated_at = 'epoch';
    END $$`
}
