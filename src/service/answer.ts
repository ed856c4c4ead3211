import { ReadableStream } from 'node:stream/web'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import type { Details, ListEnvelope, ListQuery } from './listing.ts'

/** The answer to a request for the list. All except the first two are failures of the service or of a proxy. */
export type Answer =
  /** One with an `Age` comes from a cache, and is that old. */
  | { kind: 'page'; envelope: ListEnvelope<unknown>; headers?: Record<string, string> }
  | { kind: 'error'; status: ErrorStatus; message: string; details?: Details; headers?: Record<string, string> }
  /** An HTML page, with status 200. */
  | { kind: 'html'; text: string }
  /** Half of the page; then the connection closes. */
  | { kind: 'cut'; envelope: ListEnvelope<unknown> }
  /** The page in small pieces, the last one `overMs` milliseconds after the first. */
  | { kind: 'drip'; envelope: ListEnvelope<unknown>; overMs: number }

export type Serve = (query: ListQuery) => ListEnvelope

/** Answers one valid and authenticated request for the list, which was asked for at `address`. */
export type AnswerList = (query: ListQuery, serve: Serve, address: URL) => Answer | Promise<Answer>

type Outgoing = HttpBindings['outgoing'] | undefined

/** Sends an answer. `outgoing` is its connection, if there is a real one. */
export function send(c: Context, answer: Answer, outgoing: Outgoing): Response {
  if (answer.kind === 'error')
    return c.json(errorEnvelope(answer.status, answer.message, answer.details), answer.status, answer.headers ?? {})
  if (answer.kind === 'html') return c.html(answer.text)
  const bytes = Buffer.from(JSON.stringify(answer.envelope))
  const type = { 'Content-Type': 'application/json' }
  if (answer.kind === 'page') return c.body(bytes, 200, { ...type, ...answer.headers })
  const pieces = answer.kind === 'cut' ? cutOff(bytes, outgoing) : drip(bytes, answer.overMs)
  // With its length, so that a client notices a truncated answer.
  return c.body(ReadableStream.from(pieces), 200, { ...type, 'Content-Length': String(bytes.length) })
}

async function* cutOff(bytes: Buffer, outgoing: Outgoing): AsyncGenerator<Uint8Array> {
  yield bytes.subarray(0, Math.floor(bytes.length / 2))
  const isUnsent = () => outgoing?.headersSent === false && !outgoing.destroyed
  while (isUnsent()) await nextTurn()
  // A connection closed in order still delivers its data; a destroyed one might not.
  outgoing?.socket?.destroySoon()
}

async function* drip(bytes: Buffer, overMs: number): AsyncGenerator<Uint8Array> {
  const piece = Math.ceil(bytes.length / DROPS)
  for (let sent = 0; sent < bytes.length; sent += piece) {
    if (sent > 0) await sleep(overMs / (DROPS - 1))
    yield bytes.subarray(sent, sent + piece)
  }
}

const DROPS = 200

/** The error statuses the service uses, each with its machine-readable code. The specification leaves the codes open. */
const ERROR_CODES = {
  400: 'bad_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  422: 'validation_error',
  429: 'rate_limited',
  500: 'server_error',
  503: 'unavailable',
} as const
export type ErrorStatus = keyof typeof ERROR_CODES

export function errorEnvelope(status: ErrorStatus, message: string, details: Details = {}) {
  return { success: false, error: ERROR_CODES[status], message, details } as const
}
