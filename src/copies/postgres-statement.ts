import { shownMirror } from '../address/mirror-address.ts'
import { lengthOf, readingStatement, type SomeRows, type SqlValue } from './read-rows.ts'
import { isOurs, UsageError } from '../errors/errors.ts'
import { codeOf } from '../errors/faults.ts'
import { connectionSettings, MirrorClient, schemaOf, timeOf } from '../store/port/postgres-connections.ts'
import { postgresError } from '../store/port/postgres-errors.ts'
import { beginning, sessionOn } from '../store/port/postgres-transaction.ts'
import { lookAtSchema, requireMirror } from '../store/postgres/examine-server.ts'

/** The most rows that are taken at a time, and about how much of them is in memory. */
const AT_ONCE = { rows: 500, characters: 16 * 1024 * 1024 }

/** Rows of a statement, READ ONLY, ended after `limitMs`, an abort or this process. Throws UsageError for a mistake, MirrorUnusable. */
export async function* readOnServer(
  address: string,
  { text, values }: { text: string; values: readonly unknown[] },
  { limitMs, signal }: { limitMs: number; signal?: AbortSignal | undefined },
): AsyncGenerator<SomeRows> {
  // The server makes sure that nothing is written: this is for a reason in our words, and without what stands before the first word.
  const sql = readingStatement(text, ['SELECT', 'WITH', 'VALUES', 'TABLE'])
  const place = { place: shownMirror(address), schema: schemaOf(address) }
  const client = new MirrorClient({
    ...connectionSettings(address),
    application_name: 'customer-mirror sql',
    connectionTimeoutMillis: 15_000,
    keepAlive: true,
    types: { getTypeParser: (type: number) => SHOWN_TYPES.get(type) ?? String },
  })
  client.on('error', () => {})
  // A statement under way is not waited for.
  const end = () => void client.end().catch(() => {})
  signal?.addEventListener('abort', end)
  try {
    await client.connect()
    // A reader that takes rows slowly may wait for ten minutes; it holds no lock that a run waits for.
    const limits = [
      `SET LOCAL idle_in_transaction_session_timeout = '10min'`,
      `SET LOCAL statement_timeout = ${Math.ceil(limitMs)}`,
      // Some systems cannot look whether a client is gone.
      `DO $$ BEGIN PERFORM set_config('client_connection_check_interval', '2s', true); EXCEPTION WHEN OTHERS THEN NULL; END $$`,
    ]
    await client.query(beginning('ISOLATION LEVEL REPEATABLE READ READ ONLY', place.schema, limits))
    requireMirror(await lookAtSchema(sessionOn(client), place.schema), place, 'read')
    yield* rowsOf(client, sql, values)
  } catch (error) {
    throw statementError(error, place.place)
  } finally {
    signal?.removeEventListener('abort', end)
    // What could not log in keeps its socket open until then.
    await client.end().catch(() => {})
  }
}

async function* rowsOf(client: MirrorClient, sql: string, parameters: readonly unknown[]): AsyncGenerator<SomeRows> {
  await answer(client, `DECLARE rows NO SCROLL CURSOR FOR ${sql}`, parameters)
  for (let wanted = 1; ;) {
    const some = await answer(client, `FETCH ${wanted} FROM rows`, [])
    yield some
    if (some.rows.length < wanted) return
    const room = Math.floor(AT_ONCE.characters / Math.max(1, ...some.rows.map(lengthOf)))
    wanted = Math.max(1, Math.min(AT_ONCE.rows, 4 * wanted, room))
  }
}

/** In the extended protocol, which takes one statement at a time. */
async function answer(client: MirrorClient, text: string, parameters: readonly unknown[]): Promise<SomeRows> {
  const { fields, rows } = await client.query<SqlValue[]>({
    ...{ text, values: [...parameters], rowMode: 'array', queryMode: 'extended' },
  })
  return { columns: fields.map(({ name }) => name), rows }
}

/** What went wrong with a statement: UsageError for a mistake in it, with the words of the server; MirrorUnusable for the server. */
function statementError(error: unknown, place: string): unknown {
  if (isOurs(error) || !(error instanceof Error) || !MISTAKES.test(`${codeOf(error)}: ${error.message}`))
    return postgresError(error, place)
  return new UsageError(`The statement failed: ${error.message}`)
}

/** The codes for what is not supported, not computable or unknown, for writes, parameters and lack of room; not for rights, nor for a slow reader. */
const MISTAKES = /^(0A|21|22|25(?!P0[34])|42(?!501)|54|08P01: bind|53[12]00)/

/** How a value of a PostgreSQL type is shown, by the number of the type. Others are shown as the server writes them. */
const SHOWN_TYPES: ReadonlyMap<number, (text: string) => SqlValue> = new Map<number, (text: string) => SqlValue>([
  ...[20, 21, 23, 26].map((type) => [type, BigInt] as const), // integers
  ...[700, 701].map((type) => [type, numberOf] as const), // real numbers
  [1700, (text) => (/^-?\d+$/.test(text) ? BigInt(text) : numberOf(text))],
  [16, (text) => (text === 't' ? 1n : 0n)],
  [17, (text) => Buffer.from(text.slice(2), 'hex')],
  ...[1114, 1184].map((type) => [type, timeOf] as const),
])

/** `NaN` and infinity are not written as numbers anywhere. */
function numberOf(text: string): SqlValue {
  const number = Number(text)
  return Number.isFinite(number) ? number : text
}
