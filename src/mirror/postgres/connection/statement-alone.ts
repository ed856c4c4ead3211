import type { Client, Connections } from '../session.ts'
import { asError } from './transaction.ts'

/** How long the server may take for a statement that reads whole tables. */
const LONGEST_MS = 24 * 3_600_000

/** A role may have limits that such a statement cannot keep. Another one like it may hold a lock for as long. */
const OWN_LIMITS = `SET statement_timeout = 0; SET lock_timeout = '15s'`
const LIMITS_OF_ROLE = 'RESET statement_timeout; RESET lock_timeout'

/** Runs one statement outside a transaction. `reading` begins a transaction that reads. */
export async function statementAlone(connections: Connections, reading: string, sql: string): Promise<void> {
  const client = await connections.connect()
  try {
    // What is set through a pooler reaches other programs, and may not reach the statement.
    const isOurs = await isDirect(client, reading)
    if (isOurs) await client.query(OWN_LIMITS)
    await client.query(sql, undefined, { limitMs: LONGEST_MS })
    if (isOurs) await client.query(LIMITS_OF_ROLE)
    client.release()
  } catch (error) {
    client.release(asError(error))
    throw error
  }
}

/** Whether no pooler stands between, which gives its clients numbers of its own. */
async function isDirect(client: Client, reading: string): Promise<boolean> {
  if (client.process === undefined) return true
  await client.query(reading)
  const [row] = (await client.query('SELECT pg_backend_pid() AS process')).rows
  await client.query('COMMIT')
  return typeof row === 'object' && row !== null && 'process' in row && row.process === client.process
}
