import { serialize } from 'node:v8'
import { MessagePort, workerData } from 'node:worker_threads'
import { Client, type FieldDef, type QueryArrayResult, types } from 'pg'
import { z } from 'zod'
import { VALUE_TYPES } from '../../../src/store/port/postgres-connections.ts'
import type { Answered, Asked } from './statement.ts'

/* The thread that asks a server for a test which waits meanwhile. */

const { state, port } = z
  .object({ state: z.instanceof(SharedArrayBuffer), port: z.instanceof(MessagePort) })
  .parse(workerData)
const cell = new Int32Array(state)
const BOOLEAN = 16
type Answer = Pick<QueryArrayResult<unknown[]>, 'fields' | 'rows' | 'rowCount'>
const EMPTY: Answer = { fields: [], rows: [], rowCount: 0 }

/** The connection to the last database that was asked. */
let connection: { database: string; client: Client } | undefined

port.on('message', (asked: Asked) => {
  void answerTo(asked).then((answer) => {
    port.postMessage(serialize(answer))
    Atomics.store(cell, 0, 1)
    Atomics.notify(cell, 0)
  })
})

async function answerTo({ database, schema, sql, parameters, isWriting }: Asked): Promise<Answered<unknown>> {
  try {
    const client = await clientOf(database)
    const mode = isWriting ? '' : ' ISOLATION LEVEL REPEATABLE READ READ ONLY'
    await client.query(
      `BEGIN${mode}; SET LOCAL search_path = "${schema}", sqlite_forms; SET LOCAL timezone = 'UTC'; SET LOCAL lock_timeout = '20s';
       SET LOCAL client_min_messages = 'error'`,
    )
    try {
      const answer: Answer | Answer[] = await client.query({
        ...{ text: sql, rowMode: 'array' as const },
        ...(parameters.length > 0 && { values: parameters }),
      })
      await client.query('COMMIT')
      const { fields, rows, rowCount } = [answer].flat().at(-1) ?? EMPTY
      return { rows: rows.map((values) => rowOf(fields, values)), changes: rowCount ?? 0 }
    } catch (error) {
      await client.query('ROLLBACK')
      throw error
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return { failed: error instanceof Error ? error.message : String(error), code }
  }
}

function rowOf(fields: readonly FieldDef[], values: readonly unknown[]): unknown {
  const asInSqlite = (value: unknown, column: string) =>
    column === 'created_at_utc' && typeof value === 'string' ? value.slice(0, 19) : value
  return Object.fromEntries(fields.map(({ name }, index) => [name, asInSqlite(values[index], name)]))
}

async function clientOf(database: string): Promise<Client> {
  if (connection?.database === database) return connection.client
  await connection?.client.end()
  const client = new Client({ connectionString: database, types: { getTypeParser } })
  const forget = () => {
    if (connection?.client === client) connection = undefined
  }
  client.on('error', forget)
  client.on('end', forget)
  await client.connect()
  connection = { database, client }
  return client
}

function getTypeParser(type: number): (text: string) => unknown {
  if (type === BOOLEAN) return (text) => (text === 't' ? 1 : 0)
  return VALUE_TYPES.get(type) ?? types.getTypeParser(type)
}
