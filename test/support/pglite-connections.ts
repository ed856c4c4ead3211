import type { PGlite } from '@electric-sql/pglite'
import { type Client, type Connections, Texts } from '../../src/store/port/postgres-session.ts'
import { VALUE_TYPES } from '../../src/store/port/postgres-connections.ts'
import { openKeptPglite } from './postgres/kept-pglite.ts'

let shared: Promise<PGlite> | undefined

/** The PostgreSQL of this process, which its test files share: to start one takes as long as hundreds of statements. */
export function startPglite(): Promise<PGlite> {
  return (shared ??= openKeptPglite())
}

let addresses = 0

/** The address of a mirror that is not there yet. */
export function anAddress(): string {
  addresses += 1
  return `postgres://ann@db.test/crm?schema=mirror_${addresses}`
}

/** A PostgreSQL in this process as a pool of connections. It has one session, so transactions wait for each other. */
export function pgliteConnections(database: PGlite): Connections {
  const turns = turnsOf(database)
  return {
    connect: async () => clientOf(database, await turns.take()),
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
    // A connection that is closed with an error rolls its transaction back.
    release: (error) => void (error === undefined ? Promise.resolve() : database.exec('ROLLBACK')).then(giveBack),
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

const PARSERS = { ...Object.fromEntries(VALUE_TYPES), [17]: (text: string) => Buffer.from(text.slice(2), 'hex') }

function countOf(answer: { rows: unknown[]; affectedRows?: number } | undefined): number | null {
  if (answer === undefined) return null
  return answer.rows.length > 0 ? answer.rows.length : (answer.affectedRows ?? 0)
}

type Turns = { take(): Promise<() => void> }

const turnsByDatabase = new WeakMap<PGlite, Turns>()

function turnsOf(database: PGlite): Turns {
  let turns = turnsByDatabase.get(database)
  if (turns === undefined) turnsByDatabase.set(database, (turns = createTurns()))
  return turns
}

function createTurns(): Turns {
  let last = Promise.resolve()
  return {
    take: async () => {
      const before = last
      const turn = Promise.withResolvers<void>()
      last = turn.promise
      await before
      return turn.resolve
    },
  }
}
