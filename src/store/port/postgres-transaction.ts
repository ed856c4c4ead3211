import { randomUUID } from 'node:crypto'
import {
  type Client,
  type Connections,
  type MirrorClient,
  type ServerSession,
  valueParser,
} from './postgres-connections.ts'
import { isCancelled, isCollision, isLost } from './postgres-errors.ts'
import { quoted, type Sql, sql, written } from './sql.ts'
import { together } from './store.ts'

const TRIES = 8

const REPLACED = 3

type Work<Result> = (session: ServerSession) => Promise<Result>

/** Runs `work` in one transaction begun by `script`, again while it meets other ones. What is only read counts whatever becomes of its end. */
export function transaction<Result>(
  connections: Connections,
  script: string,
  work: Work<Result>,
  { onlyReads = false }: { onlyReads?: boolean } = {},
): Promise<Result> {
  return untilUndisturbed(async () => {
    const { client, result } = await workOn(connections, script, work)
    const ended = commit(client)
    await (onlyReads ? void ended.catch(() => {}) : ended)
    return result
  })
}

/**
 * Transactions of which each is committed once, even if the server's answer is lost: each leaves a token in the mirror, and the next one that
 * begins deletes those of which the answer came. The same call with the same `once` finds out what became of it. `script` begins each.
 */
export function onceTransactions(connections: Connections, script: string) {
  const unanswered = new WeakMap<object, { token: string; result: unknown }>()
  const answered: string[] = []
  return <Result>(work: Work<Result>, once: object = {}) =>
    untilUndisturbed(async () => {
      const earlier = unanswered.get(once)
      if (earlier !== undefined) {
        const wasCommitted = await isCommitted(connections, script, earlier.token)
        unanswered.delete(once)
        // The same object names the same work, with the same type of result.
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        if (wasCommitted) return earlier.result as Result
      }
      const token = randomUUID()
      const before = answered.splice(0)
      let isAnswered = false
      try {
        const { client, result } = await workOn(connections, `${script}; ${tokens(token, before)}`, work)
        try {
          await commit(client)
        } catch (error) {
          if (!isLost(error)) throw error
          unanswered.set(once, { token, result })
          const wasCommitted = await isCommitted(connections, script, token).catch(() => undefined)
          if (wasCommitted === undefined) throw error
          unanswered.delete(once)
          if (!wasCommitted) throw error
        }
        isAnswered = true
        return result
      } finally {
        answered.push(...(isAnswered ? [token] : before))
      }
    })
}

/** Leaves the token of a transaction, and deletes those of earlier ones. They are made here, so they need no parameters. */
function tokens(token: string, before: readonly string[]): string {
  const leaving = `INSERT INTO commits (token, is_void) VALUES ('${token}', false)`
  return before.length === 0 ? leaving : `DELETE FROM commits WHERE token IN ('${before.join("', '")}'); ${leaving}`
}

/** Whether a transaction was committed of which no answer came: it is waited for, and one that was not can no longer be, its token is taken. */
function isCommitted(connections: Connections, script: string, token: string): Promise<boolean> {
  return transaction(connections, script, async (session) => {
    const take = sql`INSERT INTO commits (token, is_void) VALUES (${token}, true)
      ON CONFLICT (token) DO UPDATE SET token = excluded.token RETURNING is_void`
    const found = await session.first<{ is_void: boolean }>(take)
    return found?.is_void === false
  })
}

/** Repeats work that met another transaction, or that an administrator cancelled once, and that was rolled back whole. */
async function untilUndisturbed<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1, cancelled = 0; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      if (isCancelled(error)) cancelled += 1
      if (tries >= TRIES || !(isCollision(error) || (isCancelled(error) && cancelled === 1))) throw error
    }
  }
}

/** Begins a transaction, on another connection if one broke unused, and runs the work, whose first statements are sent with the beginning. */
async function workOn<Result>(connections: Connections, script: string, work: Work<Result>) {
  for (let replaced = 0; ; replaced += 1) {
    const client = await connections.connect()
    let isBegun = false
    let failure: { error: unknown } | undefined
    // What was sent after a statement that failed is refused: the error of the first one is the reason.
    const query = async (words: string, parameters: unknown[]) => {
      try {
        return await client.query(words, parameters.length === 0 ? undefined : parameters)
      } catch (error) {
        failure ??= { error }
        throw failure.error
      }
    }
    try {
      const begun = query(script, []).then(() => (isBegun = true))
      const [result] = await together(work(sessionOf(query)), begun)
      // The server would roll back and report no error.
      if (failure !== undefined) throw failure.error
      return { client, result }
    } catch (error) {
      if (failure !== undefined && isLost(failure.error)) client.release(true)
      else await lastOn(client, () => client.query('ROLLBACK')).catch(() => {})
      if (isBegun || replaced >= REPLACED || !isLost(error)) throw error
    }
  }
}

/** What is asked of a mirror over a connection of its own. */
export function sessionOn(client: MirrorClient): ServerSession {
  return sessionOf((text, values) => client.query({ text, values, types: { getTypeParser: valueParser } }))
}

/** The rows of a statement, and how many it found or wrote. */
type Answer<Row> = { rows: Row[]; count: number }

function sessionOf(
  send: (text: string, values: unknown[]) => Promise<{ rows: unknown[]; rowCount: number | null }>,
): ServerSession {
  const answerTo = async <Row>(statement: Sql): Promise<Answer<Row>> => {
    const { text, values } = written(statement, 'postgres')
    const { rows, rowCount } = await send(text, values)
    // The border to SQL: the author of a statement declares its rows, and the tests that run it check them.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return { rows: rows as Row[], count: rowCount ?? 0 }
  }
  return {
    kind: 'postgres',
    all: async <Row>(statement: Sql) => (await answerTo<Row>(statement)).rows,
    first: async <Row>(statement: Sql) => (await answerTo<Row>(statement)).rows[0],
    run: async (statement) => (await answerTo(statement)).count,
    numbers: async (numbers) => {
      // As bytes: a third of their size as text, and no row for each.
      const { rows } = await answerTo<{ bytes: Buffer | null }>(
        sql`SELECT string_agg(int4send(number::integer), ''::bytea) AS bytes FROM (${numbers}) AS asked (number)`,
      )
      const bytes = rows[0]?.bytes ?? Buffer.alloc(0)
      return Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readInt32BE(4 * at))
    },
  }
}

function commit(client: Client) {
  return lastOn(client, () => client.query('COMMIT'))
}

/** Gives the connection back after this work, and closes it after an error. */
async function lastOn(client: Client, work: () => Promise<unknown>) {
  try {
    await work()
  } catch (error) {
    client.release(true)
    throw error
  }
  client.release()
}

/** How long the server may take for a statement that reads whole tables. */
const LONGEST_MS = 24 * 3_600_000

/** A role may have limits that such a statement cannot keep. Another one like it may hold a lock for as long. */
const OWN_LIMITS = `SET statement_timeout = 0; SET lock_timeout = '15s'`
const LIMITS_OF_ROLE = 'RESET statement_timeout; RESET lock_timeout'

/** Runs one statement outside a transaction. `reading` begins a transaction that reads. */
export async function statementAlone(connections: Connections, reading: string, statement: string) {
  const client = await connections.connect()
  await lastOn(client, async () => {
    // What is set through a pooler reaches other programs, and may not reach the statement.
    const isOurs = await isDirect(client, reading)
    if (isOurs) await client.query(OWN_LIMITS)
    await client.query(statement, undefined, { limitMs: LONGEST_MS })
    if (isOurs) await client.query(LIMITS_OF_ROLE)
  })
}

/** Whether no pooler stands between, which gives its clients numbers of its own. */
async function isDirect(client: Client, reading: string): Promise<boolean> {
  if (client.process === undefined) return true
  await client.query(reading)
  const [row] = (await client.query('SELECT pg_backend_pid() AS process')).rows
  await client.query('COMMIT')
  return typeof row === 'object' && row !== null && 'process' in row && row.process === client.process
}

/**
 * The statements that begin a transaction, in one round trip. Names mean what they do in PostgreSQL and in the schema of the mirror,
 * whatever the role or the database sets: in another search path a role that may create there could have its own functions run. For this
 * transaction only: through a pooler the next one may come over another connection, and this one be another program's. `settings` come
 * after.
 */
export function beginning(mode: string, schema: string, settings: readonly string[] = []): string {
  return [
    `BEGIN ${mode}`,
    `SET LOCAL search_path = ${quoted(schema)}, pg_temp`,
    `SET LOCAL timezone = 'UTC'`,
    `SET LOCAL datestyle = 'ISO, YMD'`,
    `SET LOCAL bytea_output = 'hex'`,
    `SET LOCAL lock_timeout = '15s'`,
    // A transaction may be as long as its statements; PostgreSQL has it from 17 on.
    `SELECT set_config('transaction_timeout', '0', true) WHERE current_setting('server_version_num')::int >= 170000`,
    ...settings,
  ].join('; ')
}
