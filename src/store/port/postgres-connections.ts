import { Socket } from 'node:net'
import { Client as DriverClient, type ClientConfig, Pool, type PoolClient, type QueryResult, types } from 'pg'
import { shownMirror } from '../../address/mirror-address.ts'
import { parsePostgresAddress, type PostgresAddress } from '../../address/postgres-address.ts'
import { postgresSettings, type PostgresSettings, prepareLogin } from '../../address/postgres-login.ts'
import { MirrorUnusable, UsageError } from '../../errors/errors.ts'
import { LONGEST_TIMER_MS, within } from '../../machine/timers.ts'
import { Texts } from './sql.ts'
import type { Session, Store } from './store.ts'

/** The connections to a PostgreSQL server, or to one in this process. */
export type Connections = {
  connect(): Promise<Client>
  end(): Promise<void>
}

/** One connection, for one transaction. The answer to several statements is that of the last. */
export type Client = {
  /** The number of the server's process, as it was told when the connection was made: a pooler gives one of its own. */
  readonly process?: number | undefined
  /** An answer is waited for no longer than `limitMs`, or as long as the connection has it. */
  query(
    sql: string,
    parameters?: unknown[],
    limits?: { limitMs: number },
  ): Promise<{ rows: unknown[]; rowCount: number | null }>
  /** One that is broken is closed and not used again. */
  release(isBroken?: boolean): void
}

/** A transaction in PostgreSQL, in which the tables of the mirror are found by their names. */
export type ServerSession = Session & { readonly kind: 'postgres' }

/** A mirror in one schema of a PostgreSQL database. */
export type Database = Store<ServerSession> & {
  readonly schema: string
  /** Writes where there may be no mirror yet. It may be done twice. */
  make<Result>(work: (session: ServerSession) => Promise<Result>): Promise<Result>
  /** One statement outside a transaction, however long it takes, in which tables are named with their schema, and nothing else is named. */
  maintain(sql: string): Promise<void>
}

/** Transactions at once, at most; the others wait. More would be slower: a server has few processors. */
export const CONNECTIONS = 16

const CONNECT_MS = 15_000

/** How long a server may take to answer a statement, which it ends by itself before: then it is gone without a word. */
const ANSWER_MS = 330_000

const IDLE_MS = 60_000

/** How long a server may take for an answer once the program was told to stop: then it may be frozen. */
const STOP_MS = 7000

/** The connections to the server at `address`, opened when they are needed. After `signal`, one that does not answer ends them all. */
export function openPool(address: string, signal?: AbortSignal): Connections {
  const sockets = new Set<Socket>()
  let isEnded = false
  const answered: Answered = async (asked) => {
    if (signal === undefined) return asked
    const told = asked.then((answer) => ({ answer }))
    const found = (await within(told, LONGEST_TIMER_MS, undefined, signal)) ?? (await within(told, STOP_MS, undefined))
    if (found !== undefined) return found.answer
    isEnded = true
    for (const socket of sockets) socket.destroy()
    throw new Error(STOPPED)
  }
  const pool = new Pool({
    ...connectionSettings(address),
    Client: MirrorClient,
    stream: () => {
      const socket = new Socket()
      sockets.add(socket)
      return socket.once('close', () => sockets.delete(socket))
    },
    max: CONNECTIONS,
    pipeline: true,
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
    connect: async () => {
      if (isEnded) throw new Error(STOPPED)
      return clientOf(await answered(pool.connect()), answered)
    },
    end: () => pool.end(),
  }
}

type Answered = <Answer>(asked: Promise<Answer>) => Promise<Answer>

const STOPPED = 'Connection terminated by this program, which was told to stop'

/** A connection to the server of a mirror. The limit of a pool would include the wait for a free one. */
export class MirrorClient extends DriverClient {
  constructor(config?: ClientConfig) {
    // A pool hides the password from copies of its settings.
    const password = config?.password
    super({ ...config, ...(password !== undefined && { password }), connectionTimeoutMillis: CONNECT_MS })
    prepareLogin(this)
  }
}

function clientOf(client: PoolClient, answered: Answered): Client {
  return {
    process: processOf(client),
    query: async (text, parameters, { limitMs } = { limitMs: ANSWER_MS }) => {
      const limited = { text, query_timeout: limitMs }
      const sent = parameters?.map((value) => (value instanceof Texts ? binaryArray(value) : value))
      const answer: QueryResult | QueryResult[] = await answered(client.query(limited, sent))
      const { rows, rowCount } = (Array.isArray(answer) ? answer.at(-1) : answer) ?? { rows: [], rowCount: null }
      return { rows, rowCount }
    },
    release: (isBroken) => client.release(isBroken),
  }
}

/** The number of the server's process, as the driver was told when it connected. */
export function processOf(client: object): number | undefined {
  return 'processID' in client && typeof client.processID === 'number' ? client.processID : undefined
}

/** How the driver reaches the mirror at an address. Throws MirrorUnusable where it names no certificate. */
export function connectionSettings(address: string): PostgresSettings {
  return postgresSettings(
    parsed(address),
    (what) => new MirrorUnusable(`${shownMirror(address)}: ${what}`, { code: 'denied' }),
  )
}

export function schemaOf(address: string): string {
  return parsed(address).schema
}

function parsed(address: string): PostgresAddress {
  const found = parsePostgresAddress(address)
  if (found.address !== undefined) return found.address
  throw new UsageError(`The address of the mirror ${found.problem}.`)
}

export const VALUE_TYPES: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [20, Number], // bigint: counts, and numbers of rows and runs, all below 2^53
  [1700, Number], // numeric: the sum of bigints
  [114, String], // json
  [3802, String], // jsonb
  [1082, String], // date
  [1114, timeOf], // timestamp
  [1184, timeOf], // timestamp with time zone, shown in UTC
])

export function valueParser(type: number): (text: string) => unknown {
  return VALUE_TYPES.get(type) ?? types.getTypeParser(type)
}

/** `YYYY-MM-DD HH:MM:SS.SSS` from PostgreSQL's `YYYY-MM-DD HH:MM:SS[.f][+00]`; infinity, and a time before Christ, as they are. */
export function timeOf(text: string): string {
  const [, time, fraction = ''] = TIME.exec(text) ?? []
  return time === undefined ? text : `${time}.${fraction.slice(0, 3).padEnd(3, '0')}`
}

const TIME = /^(\d+-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(\d+))?(?:\+00)?$/

/** The number of dimensions, whether there are nulls, the type of the values (text), how many there are, and the number of the first. */
const headerOf = (count: number) => [1, 1, 25, count, 1]
const NUMBER_BYTES = 4
const NULL_LENGTH = -1

/** Texts as an array in the binary form of PostgreSQL: copied as they are, where its text form is quoted, and read character by character. */
function binaryArray({ values }: Texts): Buffer {
  const header = headerOf(values.length)
  let size = NUMBER_BYTES * (header.length + values.length)
  // Loops with a counter: they are entered with thousands of values before they are compiled, and make no object for each.
  for (let place = 0; place < values.length; place += 1) size += Buffer.byteLength(values[place] ?? '')
  const bytes = Buffer.allocUnsafeSlow(size)
  let at = 0
  for (const number of header) at = bytes.writeInt32BE(number, at)
  for (let place = 0; place < values.length; place += 1) {
    const value = values[place] ?? null
    const length = value === null ? NULL_LENGTH : bytes.write(value, at + NUMBER_BYTES)
    at = bytes.writeInt32BE(length, at) + Math.max(0, length)
  }
  return bytes
}
