import { ReadableStream } from 'node:stream/web'
import type { UnderlyingSource } from 'node:stream/web'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import { errorEnvelope } from './error-envelope.ts'
import type { Details, ErrorStatus } from './error-envelope.ts'
import type { ListEnvelope, ListQuery } from './listing.ts'

/** What is answered to a request for the list. All but the first two are ways in which a service, or what is before it, breaks. */
export type Answer =
  /** With an age, out of a cache that has kept it for so long. */
  | { kind: 'page'; envelope: ListEnvelope<unknown>; ageSeconds?: number }
  | { kind: 'error'; status: ErrorStatus; message: string; details?: Details }
  /** A page for people, at status 200. */
  | { kind: 'html'; text: string }
  /** Half of the page, then the connection closes. */
  | { kind: 'cut'; envelope: ListEnvelope<unknown> }
  /** The page in small pieces, the last of them `overMs` milliseconds after the first. */
  | { kind: 'drip'; envelope: ListEnvelope<unknown>; overMs: number }

/** The page a query asks for, as the list is at this moment. */
export type Serve = (query: ListQuery) => ListEnvelope

/** Answers one valid and authenticated request for the list. */
export type AnswerList = (query: ListQuery, serve: Serve) => Answer

type Outgoing = HttpBindings['outgoing'] | undefined

/** Puts an answer on the wire. `outgoing` is the connection it goes out on, where there is a real one. */
export function send(c: Context, answer: Answer, outgoing: Outgoing): Response {
  switch (answer.kind) {
    case 'error':
      return c.json(errorEnvelope(answer.status, answer.message, answer.details), answer.status)
    case 'html':
      return c.html(answer.text)
    case 'cut':
      return stream(c, answer.envelope, (bytes) => cutOff(bytes, outgoing))
    case 'drip':
      return stream(c, answer.envelope, (bytes) => drip(bytes, answer.overMs))
    default:
      return c.json(answer.envelope, 200, answer.ageSeconds === undefined ? {} : { Age: String(answer.ageSeconds) })
  }
}

/** The length is announced, so that whoever receives less can know it. */
function stream(c: Context, envelope: unknown, source: (bytes: Buffer) => UnderlyingSource<Uint8Array>): Response {
  const bytes = Buffer.from(JSON.stringify(envelope))
  return c.body(new ReadableStream<Uint8Array>(source(bytes)), 200, {
    'Content-Type': 'application/json',
    'Content-Length': String(bytes.length),
  })
}

function cutOff(bytes: Buffer, outgoing: Outgoing): UnderlyingSource<Uint8Array> {
  return {
    start(controller) {
      controller.enqueue(bytes.subarray(0, Math.floor(bytes.length / 2)))
    },
    async pull(controller) {
      if (outgoing === undefined) {
        controller.error(new Error('The answer is cut off'))
        return
      }
      while (!outgoing.headersSent && !outgoing.destroyed) await nextTurn()
      // Closed in good order, what was written still arrives; torn down at once, it might not.
      outgoing.socket?.destroySoon()
    },
  }
}

function drip(bytes: Buffer, overMs: number): UnderlyingSource<Uint8Array> {
  const gone = new AbortController()
  const piece = Math.ceil(bytes.length / DROPS)
  let sent = 0
  return {
    async pull(controller) {
      if (sent > 0) await sleep(overMs / (DROPS - 1), undefined, { signal: gone.signal }).catch(() => undefined)
      if (gone.signal.aborted) return
      controller.enqueue(bytes.subarray(sent, sent + piece))
      sent += piece
      if (sent >= bytes.length) controller.close()
    },
    cancel: () => gone.abort(),
  }
}

const DROPS = 200
