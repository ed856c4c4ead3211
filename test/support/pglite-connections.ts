import { type PGlite } from '@electric-sql/pglite'
import pLimit from 'p-limit'
import { type Client, type Connections, type Database, VALUE_TYPES } from '../../src/store/port/postgres-connections.ts'
import { Texts } from '../../src/store/port/sql.ts'
import { openDatabase } from '../../src/store/postgres/open-database.ts'
import { openKeptPglite } from './postgres/server.ts'

let shared: Promise<PGlite> | undefined

/** The PostgreSQL of this process, which its test files share: to start one takes as long as hundreds of statements. */
export function startPglite(): Promise<PGlite> {
  return (shared ??= openKeptPglite())
}

const oneAtATime = pLimit(1)

let addresses = 0

export function anAddress(): string {
  addresses += 1
  return `postgres://ann@db.test/crm?schema=mirror_${addresses}`
}

/** A PostgreSQL in this process as a pool of connections. It has one session, so transactions wait for each other. */
export function pgliteConnections(database: PGlite): Connections {
  return {
    connect: () =>
      new Promise((connected) => {
        void oneAtATime(() => new Promise<void>((giveBack) => connected(clientOf(database, giveBack))))
      }),
    // Tests share the database, which ends with the process.
    end: () => Promise.resolve(),
  }
}

function clientOf(database: PGlite, giveBack: () => void): Client {
  let isBegun = false
  return {
    query: async (sql, parameters) => {
      if (!isBegun) requireSafe(sql)
      isBegun = isBegun ? !ENDS.test(sql) : BEGINS.test(sql)
      const answer =
        parameters === undefined
          ? (await database.exec(sql, { parsers: PARSERS })).at(-1)
          : await database.query(sql, parameters.map(asArray), { parsers: PARSERS })
      return { rows: answer?.rows ?? [], rowCount: countOf(answer) }
    },
    // A connection that is closed rolls its transaction back.
    release: (isBroken) => void (isBroken === true ? database.exec('ROLLBACK') : Promise.resolve()).then(giveBack),
  }
}

function asArray(parameter: unknown): unknown {
  return parameter instanceof Texts ? parameter.values : parameter
}

/** A transaction in which names mean what they do in PostgreSQL and in the mirror, as `begin.ts` has it. */
const BEGINS = /^BEGIN [^;]*; SET LOCAL search_path = "[^"]+", pg_temp;/
const ENDS = /^(?:COMMIT|ROLLBACK)$/

/** Each statement is in such a transaction, or calls nothing by a name: another role may have given it to a function of its own. */
function requireSafe(sql: string): void {
  const isSafe = BEGINS.test(sql) || /^(?:SET|RESET) |^(?:VACUUM \(ANALYZE\)|ANALYZE) "?[a-z_0-9]+"?\./.test(sql)
  if (!isSafe) throw new Error(`A statement is sent in the search path of the role: ${sql}`)
}

const PARSERS = { ...Object.fromEntries(VALUE_TYPES), [17]: (hex: string) => Buffer.from(hex.slice(2), 'hex') }

function countOf(answer: { rows: unknown[]; affectedRows?: number } | undefined): number | null {
  if (answer === undefined) return null
  return answer.rows.length > 0 ? answer.rows.length : (answer.affectedRows ?? 0)
}

type Break = { at: string; when: 'before' | 'after'; times: number }

/** Connections that break at a statement, before or after the server did it. */
export function breakable(real: Connections) {
  const breaks: Break[] = []
  const connections = through(real, async (client, sql, parameters) => {
    const found = breaks.find(({ at, times }) => times > 0 && sql.startsWith(at))
    if (found === undefined) return client.query(sql, parameters)
    found.times -= 1
    if (found.when === 'after') await client.query(sql, parameters)
    throw new Error('Connection terminated unexpectedly')
  })
  return {
    connections,
    breakAt: (at: string, when: Break['when'], times = 1) => void breaks.push({ at, when, times }),
  }
}

export function through(
  connections: Connections,
  query: (client: Client, sql: string, parameters: unknown[] | undefined) => ReturnType<Client['query']>,
): Connections {
  return {
    ...connections,
    connect: async () => {
      const client = await connections.connect()
      return { ...client, query: (sql, parameters) => query(client, sql, parameters) }
    },
  }
}

let kept: Database | undefined

/** A mirror without rows: that of the test before, emptied in a tenth of the time to make one. Its tables must stay as made. */
export async function anEmptyMirror(): Promise<string> {
  const server = await startPglite()
  if (kept !== undefined) await server.exec(emptying(kept.schema))
  kept ??= await openDatabase(anAddress(), 'write', () => pgliteConnections(server))
  return kept.place
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
      UPDATE ${schema}.last_update SET updated_at = 'epoch';
    END $$`
}
