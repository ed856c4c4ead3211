import { setImmediate as nextTurn } from 'node:timers/promises'
import { inspect } from 'node:util'
import { afterEach } from 'vitest'
import type { Sleep } from '../../src/machine/timers.ts'
import { createByteBudget } from '../../src/source/byte-budget.ts'
import { DEFAULT_PRESET, recipeOf } from '../../src/signing/signing.ts'
import { openSource, type Source, type SourceEvent, type SourceOptions } from '../../src/source/customers.ts'
import { bytes, envelopeOf, faultServer, type Reply } from '../support/fault-server.ts'

export const CREDENTIALS = { apiKey: 'ak_live_123', secret: 'whsec_test_4f3c2b1a' }

type Settings = Partial<SourceOptions['settings']>
type Options = Partial<Omit<SourceOptions, 'settings'>>

const opened: Source[] = []
afterEach(() => {
  for (const source of opened.splice(0)) source.close()
})

/** A source at `baseUrl` in virtual time, with everything a test may want to look at. Closed after the test. */
export function aSource({ baseUrl }: { baseUrl: URL }, changes: Settings = {}, options: Options = {}) {
  const time = virtualTime()
  const events: SourceEvent[] = []
  const source = openSource({
    settings: {
      ...{ baseUrl, signing: recipeOf(DEFAULT_PRESET), requestTimeoutMs: 60_000, concurrency: 4 },
      ...{ maxWaitMs: 900_000, longestWaitMs: 900_000, ...changes },
    },
    credentials: CREDENTIALS,
    userAgent: 'customer-mirror/test',
    ...time,
    random: () => 1,
    onEvent: (event) => events.push(event),
    // Its pages are not released: in the budget of the process they would keep those of later tests waiting.
    budget: createByteBudget(32 * 1024 * 1024),
    ...options,
  })
  opened.push(source)
  return { source, events, slept: time.slept, now: time.now }
}

export const FIRST = { page: 1, size: 100 }

/** Reads a page of a service that gives these answers in turn, the last one again and again: the page or the error, and what was seen meanwhile. */
export async function readFrom(
  replies: Reply | [Reply, ...Reply[]],
  { window = FIRST, settings, options }: { window?: typeof FIRST; settings?: Settings; options?: Options } = {},
) {
  const all: [Reply, ...Reply[]] = Array.isArray(replies) ? replies : [replies]
  const server = await faultServer(...all)
  const its = aSource(server, settings, options)
  const reading = its.source.readPage(window, PATIENT).then((page) => {
    // What is wrong with its records is wrong with the page.
    page.records()
    return page
  })
  const [read] = await Promise.allSettled([reading])
  const page = read.status === 'fulfilled' ? read.value : undefined
  const error: unknown = read.status === 'rejected' ? read.reason : undefined
  return { ...its, server, page, error }
}

/** A signal for those who never stop. */
export const PATIENT = { signal: new AbortController().signal }

/** What a promise rejects with; a text where it does not. */
export function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(inspect, (error: unknown) => error)
}

/** Everything that could end up in a log when an error is written down, its causes included. */
export function everythingIn(error: unknown): string {
  const parts = [inspect(error, { depth: 20, showHidden: true }), JSON.stringify(error)]
  for (let at: unknown = error; at instanceof Error; at = at.cause) parts.push(at.message, at.stack ?? '')
  return parts.join('\n')
}

export const NOW_MS = 1_700_000_000_000

/** The header of a service whose clock is ahead by so much. */
export const dateOf = (offsetMs: number) => ({ Date: new Date(NOW_MS + offsetMs).toUTCString() })

/** A clock that advances only by sleeping, at once: waits of minutes cost nothing. */
export function virtualTime(startMs = NOW_MS) {
  let nowMs = startMs
  const slept: number[] = []
  const sleep: Sleep = async (ms, signal) => {
    const untilMs = nowMs + ms
    slept.push(ms)
    await nextTurn()
    signal.throwIfAborted()
    nowMs = Math.max(nowMs, untilMs)
  }
  return { now: () => nowMs, monotonicMs: () => nowMs, slept, sleep }
}

/** A page of some hundred kilobytes. */
export const large: Reply = (response, request) => {
  const { data, ...rest } = envelopeOf(1000, request)
  const wide = data.map((record) => ({ ...record, name: 'ж'.repeat(5000) }))
  return bytes(200, JSON.stringify({ ...rest, data: wide }))(response, request)
}
