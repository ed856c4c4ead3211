import { randomUUID } from 'node:crypto'
import { env } from 'node:process'
import { deserialize } from 'node:v8'
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { inject, onTestFinished } from 'vitest'
import { POSTGRES_USER } from '../mirror-choice.ts'

/** A statement to the mirror at an address, as the thread gets it. */
export type Asked = { database: string; schema: string; sql: string; parameters: unknown[]; isWriting: boolean }

/** What the thread answers, in bytes. */
export type Answered<Found> = Rows<Found> | { failed: string; code: unknown }

type Rows<Found> = { rows: Found[]; changes: number }

type Thread = { port: MessagePort; state: Int32Array }

/** How long a statement may take; one that waits for a transaction of the test itself would never end. */
const LIMIT_MS = 60_000

let thread: Thread | undefined

/** The mirror at an address of PostgreSQL, for statements that are written for SQLite. Each call returns when the server has answered. */
export function statementsOn(address: string, { isWriting = false } = {}) {
  const url = new URL(address)
  const schema = url.searchParams.get('schema') ?? 'customer_mirror'
  url.search = ''
  url.username ||= POSTGRES_USER
  const ask = <Found>(sql: string, parameters: unknown[]) =>
    answerTo<Found>({ database: url.href, schema, isWriting, ...translated(sql, parameters) })
  return {
    all: <Found = Record<string, unknown>>(sql: string, ...parameters: unknown[]) => ask<Found>(sql, parameters).rows,
    value: (sql: string, ...parameters: unknown[]) => Object.values(ask<object>(sql, parameters).rows[0] ?? {})[0],
    run: (sql: string, ...parameters: unknown[]) => ask(sql, parameters).changes,
    close: () => {},
  }
}

function answerTo<Found>(asked: Asked): Rows<Found> {
  const { port, state } = (thread ??= startThread())
  Atomics.store(state, 0, 0)
  port.postMessage(asked)
  if (Atomics.wait(state, 0, 0, LIMIT_MS) === 'timed-out') throw new Error(`no answer to: ${asked.sql}`)
  const answer: Answered<Found> = deserialize(receiveMessageOnPort(port)?.message)
  if ('failed' in answer) throw Object.assign(new Error(`${answer.failed} in: ${asked.sql}`), { code: answer.code })
  return answer
}

function startThread(): Thread {
  const state = new SharedArrayBuffer(4)
  const { port1, port2 } = new MessageChannel()
  const worker = new Worker(new URL('statement-thread.ts', import.meta.url), {
    workerData: { state, port: port2 },
    transferList: [port2],
  })
  worker.unref()
  port1.unref()
  return { port: port1, state: new Int32Array(state) }
}

/** The address of a mirror in PostgreSQL that does not exist yet. Its schema is dropped when the test ends. */
export function aPostgresMirror(): string {
  const database = inject('postgresAddresses')[Number(env['VITEST_POOL_ID'] ?? 1) - 1]
  if (database === undefined) throw new Error('There is no PostgreSQL here, which this test needs. Install it.')
  const schema = `mirror_${randomUUID().replaceAll('-', '')}`
  const address = `${database}?schema=${schema}`
  onTestFinished(() => {
    statementsOn(address, { isWriting: true }).run(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
  })
  return address
}

/** Text in quotes, names in quotes, comments and casts, which stay as they are; and all that PostgreSQL says in another way. */
const PARTS = new RegExp(
  [
    ...[String.raw`x'[0-9a-f]*'`, `'(?:[^']|'')*'`, `"(?:[^"]|"")*"`, String.raw`--[^\n]*`, '::', String.raw`\?`],
    ...[String.raw`\browid\b`, String.raw`\breplace into\b`],
    ...[String.raw`\bis not (?!null|true|false|distinct)`, String.raw`\bis (?!not|null|true|false|distinct)`],
  ].join('|'),
  'gi',
)

/** The column by whose order SQLite returns rows as they were written. */
const ROW_NUMBERS: Record<string, string> = {
  runs: 'id',
  changes: 'seq',
  rejects: 'reject_id',
  customers: 'organization, row_id',
  forgotten: 'number',
  leases: 'organization',
}

/** What a command of SQLite checks, where PostgreSQL has no such command. */
const CHECKS: Record<string, string> = {
  'PRAGMA integrity_check': `SELECT 'ok' AS integrity_check`,
  'PRAGMA foreign_key_check': ['customers.last_run_id', 'changes', 'rejects', 'windows', 'held_rows']
    .map((place) => place.split('.'))
    .map(
      ([table = '', column = 'run_id']) =>
        `SELECT '${table}' AS "table" FROM ${table} WHERE NOT EXISTS (SELECT FROM runs WHERE runs.id = ${table}.${column})`,
    )
    .join(' UNION ALL '),
}

/** A statement that is written for SQLite, with its parameters, for PostgreSQL. */
function translated(sql: string, given: readonly unknown[]): { sql: string; parameters: unknown[] } {
  const command = CHECKS[sql.trim()]
  if (command !== undefined) return { sql: command, parameters: [] }
  const positional = [...given]
  const parameters: unknown[] = []
  const add = (value: unknown) => `$${parameters.push(typeof value === 'boolean' ? Number(value) : value)}`
  const isReplacing = /^\s*replace into\b/i.test(sql)
  const text = sql.replaceAll(/CAST\((\w+) AS BLOB\)/gi, `convert_to($1, 'UTF8')`).replaceAll(PARTS, (part) => {
    if (part === '?') return add(positional.shift())
    if (/^x'/i.test(part)) return String.raw`'\x${part.slice(2, -1)}'::bytea`
    return IN_POSTGRES[part.trim().toLowerCase().replace(/\s+/, ' ')]?.(sql) ?? part
  })
  return { sql: isReplacing ? `${text} ON CONFLICT DO NOTHING` : inOrder(text), parameters }
}

/** SQLite returns the rows of one table in the order in which they were written, also where the statement names none. */
function inOrder(sql: string): string {
  const [, columns = '', table = ''] = /^\s*SELECT (.*?) FROM (\w+)(?: WHERE .*)?$/is.exec(sql) ?? []
  const isPlain =
    !/\b(?:distinct|count|sum|min|max|group_concat)\b/i.test(columns) &&
    !/\b(?:join|order by|group by|limit)\b/i.test(sql)
  const order = ROW_NUMBERS[table]
  return isPlain && order !== undefined ? `${sql} ORDER BY ${order}` : sql
}

const IN_POSTGRES: Record<string, (sql: string) => string> = {
  rowid: (sql) => ROW_NUMBERS[/\bFROM (\w+)/i.exec(sql)?.[1] ?? ''] ?? '1',
  'replace into': () => 'INSERT INTO',
  'is not': () => 'IS DISTINCT FROM ',
  is: () => 'IS NOT DISTINCT FROM ',
}
