import { deserialize } from 'node:v8'
import { type MessagePort, MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { POSTGRES_USER } from '../mirror-choice.ts'
import { translated } from './translated.ts'

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
export function statementsOn(address: string, { isWriting = false } = {}): Statements {
  const url = new URL(address)
  const schema = url.searchParams.get('schema') ?? 'customer_mirror'
  url.search = ''
  url.username ||= POSTGRES_USER
  const ask = <Found>(sql: string, parameters: unknown[]) =>
    answerTo<Found>({ database: url.href, schema, isWriting, ...translated(sql, parameters) })
  return {
    all: <Found>(sql: string, ...parameters: unknown[]) => ask<Found>(sql, parameters).rows,
    run: (sql, ...parameters) => ask(sql, parameters).changes,
  }
}

export type Statements = {
  /** The rows as SQLite has them: times and JSON are text, truth is 0 or 1. */
  all<Found = Record<string, unknown>>(sql: string, ...parameters: unknown[]): Found[]
  /** The number of rows written. */
  run(sql: string, ...parameters: unknown[]): number
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
