import { Pool, type ClientConfig, type PoolClient, type QueryResult } from 'pg'
import { arrayLiteral } from './array-literal.ts'
import { binaryArray } from './binary-array.ts'
import { MirrorClient, processOf } from './client.ts'
import { connectionSettings } from './connection-settings.ts'
import { ArrayOf, type Client, type Connections } from '../session.ts'
import { valueParser } from './value-types.ts'

/** Transactions at once, at most; the others wait. More would be slower: a server has few processors. */
const CONNECTIONS = 16

/** How long a server may take to accept a connection. */
const CONNECT_MS = 15_000

/** How long a server may take to answer a statement, which it ends by itself before: then it is gone without a word. */
const ANSWER_MS = 330_000

/** How long an unused connection is kept. */
const IDLE_MS = 60_000

/** The connections to the server at `address`, opened when they are needed. */
export function openPool(address: string): Connections {
  const pool = new Pool({
    ...connectionSettings(address),
    Client: ClientInTime,
    max: CONNECTIONS,
    keepAlive: true,
    idleTimeoutMillis: IDLE_MS,
    query_timeout: ANSWER_MS,
    application_name: 'customer-mirror',
    types: { getTypeParser: valueParser },
  })
  // A connection that breaks is replaced; without these listeners its error would end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return {
    connect: async () => clientOf(await pool.connect()),
    end: () => pool.end(),
  }
}

/** The limit of the pool would include the wait for a free connection. A pool hides the password from copies of its settings. */
class ClientInTime extends MirrorClient {
  constructor(config?: ClientConfig) {
    const password = config?.password
    super({ ...config, ...(password !== undefined && { password }), connectionTimeoutMillis: CONNECT_MS })
  }
}

function asSent(parameter: unknown): unknown {
  if (parameter instanceof ArrayOf) return binaryArray(parameter)
  return Array.isArray(parameter) ? (arrayLiteral(parameter) ?? parameter) : parameter
}

function clientOf(client: PoolClient): Client {
  return {
    process: processOf(client),
    query: async (text, parameters, { limitMs } = { limitMs: ANSWER_MS }) => {
      const limited = { text, query_timeout: limitMs }
      const answer: QueryResult | QueryResult[] = await client.query(limited, parameters?.map(asSent))
      const { rows, rowCount } = (Array.isArray(answer) ? answer.at(-1) : answer) ?? { rows: [], rowCount: null }
      return { rows, rowCount }
    },
    release: (error) => client.release(error),
  }
}
