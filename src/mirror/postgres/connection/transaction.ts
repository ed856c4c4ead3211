import { setTimeout as wait } from 'node:timers/promises'
import { isCollision, isLost } from './postgres-errors.ts'
import type { Client, Connections, Session } from '../session.ts'
import { codeOf } from '../../../errors/faults.ts'

/** How often a transaction is begun again that met another one. */
const TRIES = 8

/** How often a connection is replaced that broke while it was not used. */
const REPLACED = 3

/** How often, and after how many milliseconds, to ask again about a transaction that the server is still committing. */
const ASKED = 50
const ASK_AGAIN_MS = 100

type Work<Result> = (session: Session) => Promise<Result>

/** Runs `work` in one transaction begun by `script`, again and again while it meets other ones. */
export function transaction<Result>(connections: Connections, script: string, work: Work<Result>): Promise<Result> {
  return untilUndisturbed(async () => {
    const { client } = await begin(connections, script)
    const result = await workOn(client, work)
    await commit(client)
    return result
  })
}

/** What begins a transaction that writes, and returns its number; and what begins one that reads. */
type Scripts = { writing: string; reading: string }

/** Whether the tables hold what a transaction with this result wrote. */
type IsThere<Result> = (session: Session, result: Result) => Promise<boolean>

/**
 * Transactions of which each is committed once, even if the server's answer is lost. The number of a transaction that was lost with the
 * server, because it crashed or a standby took over, is given to another one: where `isThere` is given, the tables have the last word.
 */
export type OnceTransactions = <Result>(
  work: Work<Result>,
  once: object | undefined,
  isThere: IsThere<Result> | undefined,
) => Promise<Result>

export function onceTransactions(connections: Connections, { writing, reading }: Scripts): OnceTransactions {
  const unanswered = new WeakMap<object, { number: string; result: unknown }>()
  return <Result>(work: Work<Result>, once: object = {}, isThere?: IsThere<Result>) => {
    const isKept = (number: string, result: Result) =>
      isCommitted(connections, reading, { number, isThere: isThere && ((session) => isThere(session, result)) })
    return untilUndisturbed(async () => {
      const earlier = unanswered.get(once)
      if (earlier !== undefined) {
        // The same object names the same work, with the same type of result.
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        const result = earlier.result as Result
        const wasCommitted = await isKept(earlier.number, result)
        unanswered.delete(once)
        if (wasCommitted) return result
      }
      const { client, number } = await begin(connections, writing)
      const result = await workOn(client, work)
      try {
        await commit(client)
      } catch (error) {
        if (!isLost(error)) throw error
        unanswered.set(once, { number, result })
        const wasCommitted = await isKept(number, result).catch(() => undefined)
        if (wasCommitted === undefined) throw error
        unanswered.delete(once)
        if (!wasCommitted) throw error
      }
      return result
    })
  }
}

/** Repeats work that met another transaction and was rolled back whole. */
async function untilUndisturbed<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      if (tries >= TRIES || !isCollision(error)) throw error
    }
  }
}

/** Begins a transaction, on another connection if one broke while it was not used. */
async function begin(connections: Connections, script: string): Promise<{ client: Client; number: string }> {
  for (let replaced = 0; ; replaced += 1) {
    const client = await connections.connect()
    try {
      const [row] = (await client.query(script)).rows
      const number = typeof row === 'object' && row !== null && 'xid' in row ? String(row.xid) : ''
      return { client, number }
    } catch (error) {
      client.release(asError(error))
      if (replaced >= REPLACED || !isLost(error)) throw error
    }
  }
}

/** Runs the work; if it fails, the transaction is rolled back and the connection given back. */
async function workOn<Result>(client: Client, work: Work<Result>): Promise<Result> {
  let failure: { error: unknown } | undefined
  const query = async (sql: string, parameters: unknown[]) => {
    try {
      return await client.query(sql, parameters.length === 0 ? undefined : parameters)
    } catch (error) {
      failure ??= { error }
      throw error
    }
  }
  try {
    const result = await work(sessionOf(query))
    // The server would roll back and report no error.
    if (failure !== undefined) throw failure.error
    return result
  } catch (error) {
    await rollBack(client, failure?.error)
    throw error
  }
}

type Query = (sql: string, parameters: unknown[]) => ReturnType<Client['query']>

function sessionOf(query: Query): Session {
  return {
    // The border to SQL: the author of a statement declares its rows, and the tests that run it check them.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    all: async <Row>(sql: string, ...parameters: unknown[]) => (await query(sql, parameters)).rows as Row[],
    first: async <Row>(sql: string, ...parameters: unknown[]) => {
      const [row] = (await query(sql, parameters)).rows
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return row as Row | undefined
    },
    run: async (sql, ...parameters) => (await query(sql, parameters)).rowCount ?? 0,
  }
}

async function rollBack(client: Client, error: unknown): Promise<void> {
  if (error !== undefined && isLost(error)) return client.release(asError(error))
  try {
    await client.query('ROLLBACK')
    client.release()
  } catch (broken) {
    client.release(asError(broken))
  }
}

async function commit(client: Client): Promise<void> {
  try {
    await client.query('COMMIT')
    client.release()
  } catch (error) {
    client.release(asError(error))
    throw error
  }
}

/** Whether a transaction was committed, of which the server gave no answer. */
async function isCommitted(
  connections: Connections,
  reading: string,
  { number, isThere }: { number: string; isThere: ((session: Session) => Promise<boolean>) | undefined },
): Promise<boolean> {
  for (let asked = 1; ; asked += 1) {
    const status = await transaction(connections, reading, (session) => statusOf(session, number)).catch(notKnown)
    // A transaction of its own: it must see what was committed before that answer.
    if (status === 'committed') return isThere === undefined || (await transaction(connections, reading, isThere))
    if (status !== 'in progress') return false
    if (asked >= ASKED) throw new Error('timeout expired')
    await wait(ASK_AGAIN_MS)
  }
}

async function statusOf(session: Session, number: string): Promise<string | null> {
  const found = await session.first<{ status: string | null }>(STATUS, number)
  return found?.status ?? null
}

const STATUS = 'SELECT pg_xact_status($1::text::xid8) AS status'

/** A server that took over from the lost one may never have heard of the transaction. */
function notKnown(error: unknown): null {
  if (codeOf(error) === '22023') return null
  throw error
}

export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
