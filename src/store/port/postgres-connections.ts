import { Client as DriverClient, type ClientConfig, Pool, type PoolClient, type QueryResult, types } from 'pg'
import { ArrayOf, type Client, type Connections } from './postgres-session.ts'
import { usePasswordFile } from '../../address/password-file.ts'
import { closeWhereRefused } from '../../address/refused-login.ts'
import { MirrorUnusable, UsageError } from '../../errors/errors.ts'
import { shownMirror } from '../../address/mirror-address.ts'
import { parsePostgresAddress, type PostgresAddress } from '../../address/postgres-address.ts'
import { postgresSettings, type PostgresSettings } from '../../address/postgres-settings.ts'

/** Transactions at once, at most; the others wait. More would be slower: a server has few processors. */
const CONNECTIONS = 16

const CONNECT_MS = 15_000

/** How long a server may take to answer a statement, which it ends by itself before: then it is gone without a word. */
const ANSWER_MS = 330_000

const IDLE_MS = 60_000

/** The connections to the server at `address`, opened when they are needed. */
export function openPool(address: string): Connections {
  const pool = new Pool({
    ...connectionSettings(address),
    Client: ClientInTime,
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
    connect: async () => clientOf(await pool.connect()),
    end: () => pool.end(),
  }
}

/** A connection to the server of a mirror. */
export class MirrorClient extends DriverClient {
  constructor(config?: ClientConfig) {
    super(config)
    usePasswordFile(this)
    closeWhereRefused(this)
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

/** The schema of the mirror at an address. */
export function schemaOf(address: string): string {
  return parsed(address).schema
}

function parsed(address: string): PostgresAddress {
  const found = parsePostgresAddress(address)
  if ('address' in found) return found.address
  throw new UsageError(`The address of the mirror ${found.problem}.`)
}

/** How a value of a PostgreSQL type is read, by the number of the type: as the mirror in SQLite has it. */
export const VALUE_TYPES: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [20, Number], // bigint: counts, and numbers of rows and runs, all below 2^53
  [1700, Number], // numeric: the sum of bigints
  [114, asItIs], // json
  [3802, asItIs], // jsonb
  [1082, asItIs], // date
  [1114, timeOf], // timestamp
  [1184, timeOf], // timestamp with time zone, shown in UTC
])

/** How the driver reads a value of a type for the mirror. */
export function valueParser(type: number): (text: string) => unknown {
  return VALUE_TYPES.get(type) ?? types.getTypeParser(type)
}

function asItIs(text: string): string {
  return text
}

/**
 * `YYYY-MM-DD HH:MM:SS.SSS` from PostgreSQL's `YYYY-MM-DD HH:MM:SS[.f][+00]`, also in the year 0, which is 1 BC there; other times, such
 * as infinity, as they are.
 */
function timeOf(text: string): string {
  const [, year, rest, fraction = '', era] = TIME.exec(text) ?? []
  if (year === undefined || (era !== undefined && year !== '0001')) return text
  return `${era === undefined ? year : '0000'}-${rest}.${fraction.slice(0, 3).padEnd(3, '0')}`
}

const TIME = /^(\d+)-(\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(\d+))?(?:\+00)?( BC)?$/

/** The number of dimensions, whether there are nulls, the type of the values, how many there are, and the number of the first. */
const HEADER_BYTES = 20
const LENGTH_BYTES = 4
const NULL_LENGTH = -1
/** The numbers of the types, the same in every server. */
const TYPES = { bytea: 17, text: 25 } as const
/** UTF-8 takes at most so many bytes for each character of a JavaScript string. */
const MOST_BYTES = 3
/** Room beside that for ASCII, as a share: most texts need little more. */
const SPARE = 1 / 8

/**
 * An array in the binary form of PostgreSQL. Values are copied as they are, where the text form is quoted or written in hexadecimal digits,
 * and read character by character.
 */
export function binaryArray({ type, values }: ArrayOf): Buffer {
  let bytes: Buffer = Buffer.allocUnsafeSlow(likelyBytes(values))
  bytes.writeInt32BE(1, 0)
  bytes.writeInt32BE(1, 4)
  bytes.writeInt32BE(TYPES[type], 8)
  bytes.writeInt32BE(values.length, 12)
  bytes.writeInt32BE(1, 16)
  let at = HEADER_BYTES
  for (let place = 0; place < values.length; place += 1) {
    const value = values[place] ?? null
    const most = at + LENGTH_BYTES + MOST_BYTES * (value?.length ?? 0)
    if (most > bytes.length) bytes = enlarged(bytes, at, most)
    const length = value === null ? NULL_LENGTH : put(value, bytes, at + LENGTH_BYTES)
    bytes.writeInt32BE(length, at)
    at += LENGTH_BYTES + Math.max(0, length)
  }
  return bytes.subarray(0, at)
}

function put(value: string | Buffer, bytes: Buffer, at: number): number {
  return typeof value === 'string' ? bytes.write(value, at) : value.copy(bytes, at)
}

function likelyBytes(values: ArrayOf['values']): number {
  let [sum, longest] = [0, 0]
  // A loop with a counter: it is entered with thousands of values before it is compiled, and makes no object for each.
  for (let place = 0; place < values.length; place += 1) {
    const length = values[place]?.length ?? 0
    sum += length
    longest = Math.max(longest, length)
  }
  return HEADER_BYTES + LENGTH_BYTES * (values.length + 1) + Math.ceil(sum * (1 + SPARE)) + MOST_BYTES * longest
}

/** The first `used` bytes, with room for `least` in all and for as much again as there was. */
function enlarged(bytes: Buffer, used: number, least: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(Math.max(2 * bytes.length, least))
  bytes.copy(larger, 0, 0, used)
  return larger
}

/**
 * An array of texts, numbers and truth values as PostgreSQL reads it, by way of JSON, which writes the same but for control characters:
 * several times as fast as the driver, which looks at each character. Undefined for an array of other values.
 */
export function arrayLiteral(values: readonly unknown[]): string | undefined {
  if (!values.every(isPlain)) return undefined
  const json = JSON.stringify(values).slice(1, -1)
  return `{${ESCAPED.test(json) ? json.replaceAll(ANY_ESCAPED, unescaped) : json}}`
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' || value === null || typeof value === 'boolean' || Number.isSafeInteger(value)
}

/** Both escape a quote and a backslash by a backslash; before another character PostgreSQL leaves it out. */
const ESCAPED = /\\[^"\\]/
const ANY_ESCAPED = /\\(?:u([\da-f]{4})|.)/g

function unescaped(escape: string, code: string | undefined): string {
  if (code !== undefined) return String.fromCharCode(parseInt(code, 16))
  return CONTROLS.get(escape) ?? escape
}

const CONTROLS: ReadonlyMap<string, string> = new Map([
  ['\\b', '\b'],
  ['\\f', '\f'],
  ['\\n', '\n'],
  ['\\r', '\r'],
  ['\\t', '\t'],
])
