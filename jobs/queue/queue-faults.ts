import type { EventEmitter } from 'node:events'
import { QueueUnavailable, isOurs } from '../../src/errors/errors.ts'
import { type TlsFailure, codeOf, connectionsTaken, tlsFailure } from '../../src/errors/faults.ts'
import type { Logger } from '../../src/machine/log.ts'
import { backoffMs } from '../../src/time/durations.ts'
import { oneAtATime, within } from './deadline.ts'
import type { Timings } from '../timings.ts'

/**
 * An error of the queue as QueueUnavailable, with the queue, the reason and the fix. Our own errors and defects of this program
 * are returned unchanged. The cause is dropped, because drivers keep commands and passwords in it.
 */
export function queueUnavailable(error: unknown, place: string): unknown {
  return DEFECTS.some((kind) => error instanceof kind) ? error : neverOpened(error, place)
}

/** An error from opening the queue, whatever its kind: drivers throw any error for an address they cannot parse. */
export function neverOpened(error: unknown, place: string): unknown {
  if (isOurs(error)) return error
  const what = reasonOf(error)
  const { what: reason, fix } = untrusted(error) ?? { what, fix: `${REMEDY} ${connectionsTaken(what, 10)}`.trimEnd() }
  return new QueueUnavailable(
    `The queue at ${place} cannot be used: ${reason}. ${fix} 'customer-mirror sync' needs no queue.`,
  )
}

function untrusted(error: unknown): TlsFailure | undefined {
  const first = firstOf(error)
  return first instanceof Error ? tlsFailure(codeOf(first) ?? '', first.message) : undefined
}

/** The reason of an error in one line, without arguments and passwords. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it failed'
  const first = firstOf(error)
  const code = codeOf(first)
  const line = first instanceof Error ? firstLine(first.message) : ''
  return line === '' ? (code ?? 'it failed') : line
}

/** Node names every address that it tried in one error. */
function firstOf(error: unknown): unknown {
  return error instanceof AggregateError ? error.errors[0] : error
}

/** Whether an error says that the queue answered and refused, rather than that it could not be reached. */
export function isRefusal(error: unknown): boolean {
  return !/ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|57P0|Connection (is closed|terminated)|LOADING|timeout exceeded|Query read timeout|Socket timeout|starting up|shutting down/i.test(
    codeAndReason(error),
  )
}

/** `code: reason`, for a log. */
export function codeAndReason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return `${code}: ${reasonOf(error).slice(0, 200)}`
}

/**
 * The first line, without the digest that a script of the queue adds, without the arguments of a command that Redis does not know (those of
 * AUTH are a user and a password), and without a password in an address. Where a password is missing, the driver of PostgreSQL names a step
 * of its protocol.
 */
function firstLine(message: string): string {
  if (/^SASL: .*password must be/.test(message)) return 'it asks for a password'
  return (message.split('\n')[0] ?? '')
    .replace(/\.? script: [0-9a-f]{40}.*$/, '')
    .replace(/,? with args beginning with:.*$/i, '')
    .replaceAll(/\/\/[^/\s@]*@/g, '//')
    .replace(/[.\s]+$/, '')
}

/** What the server says is quoted; one sentence for all of it follows. */
const REMEDY =
  'Start that server, or repair there what it says; or correct its address, with user, password and TLS (rediss://, sslmode): queue in the ' +
  'configuration, or CUSTOMER_MIRROR_QUEUE. It has to be one server and no Sentinel, or a cluster with a hash tag as prefix (?prefix={name}); its ' +
  'user needs all rights to the keys or the schema of the queue; ?prefix= keeps it apart from other programs.'

const DEFECTS = [TypeError, RangeError, ReferenceError, SyntaxError]

export type Watching = {
  /** Queues, which report errors. */
  queues: readonly Emitter[]
  /** Workers, which report errors, and are paused while the queue fails. */
  workers: readonly (Emitter & { pause(doNotWaitActive: boolean): Promise<void>; resume(): unknown })[]
  /** Writes to the queue, or rejects with its error. */
  write: () => Promise<void>
  log: Pick<Logger, 'info' | 'warn'>
  timings: Pick<Timings, 'lookMs' | 'firstPauseMs' | 'longestPauseMs' | 'settleMs'>
  monotonicMs: () => number
  /** From 0 to 1. */
  random: () => number
  /** The queue works again, and may have lost its data. */
  onBack: () => void
}

type Emitter = Pick<EventEmitter, 'on'>

/** Workers that failed together do not come back together, and none asks a queue that refuses it again at once. */
const LEAST_SHARE = 0.5

/**
 * Pauses the workers while the queue is lost or refuses writes: BullMQ would retry at once, again and again. Current runs continue.
 *
 *     working ── error ──▶ failing ── written ──▶ trying ── quiet for a while ──▶ working
 *                           ▲  │ not: waits longer  │
 *                           │  ▼ where it refuses   │
 *                           └──────── error ────────┘
 *
 * Each reason is logged at most once a minute, although clients report every attempt to reconnect, and the end once. Only the code and the
 * first line of an error are logged, because errors contain commands with passwords.
 */
export function watchQueue({ queues, workers, write, log, timings, ...watching }: Watching): { stop: () => void } {
  const { monotonicMs, random, onBack } = watching
  const { lookMs, settleMs, firstPauseMs: firstMs, longestPauseMs: longestMs } = timings
  const lost = createSparseLog((fields) => log.warn(fields, 'queue lost'), monotonicMs)
  const refused = createSparseLog((fields) => log.warn(fields, 'queue error'), monotonicMs)
  let state: 'working' | 'failing' | 'trying' | 'stopped' = 'working'
  // A loss is reported by each client in its own words, and logged once until it is over.
  let [isLost, isLossLogged, tries] = [false, false, 1]
  let timer: NodeJS.Timeout | undefined
  const after = (ms: number, work: () => void) => {
    clearTimeout(timer)
    timer = setTimeout(work, ms)
  }

  function report(error: unknown): void {
    isLost = !isRefusal(error)
    const reason = codeAndReason(error)
    if (isLost) isLossLogged = lost.report('lost', { reason }) || isLossLogged
    else refused.report(reason)
  }

  function failed(error: unknown): void {
    if (state === 'stopped') return
    report(error)
    if (state === 'failing') return
    if (state === 'trying' && !isLost) tries += 1
    state = 'failing'
    for (const worker of workers) worker.pause(true).catch(report)
    lookLater()
  }

  function lookLater(): void {
    after(isLost ? lookMs : backoffMs(tries, random(), { firstMs, longestMs, least: LEAST_SHARE }), () => void look())
  }

  // A client keeps what it could not send until the queue is back: it is not given more.
  const ask = oneAtATime(() =>
    write().then(resume, (error: unknown) => {
      if (state === 'failing') report(error)
    }),
  )

  async function look(): Promise<void> {
    await within(ask(), isLost ? lookMs : longestMs, undefined)
    if (state !== 'failing') return
    if (!isLost) tries += 1
    lookLater()
  }

  function resume(): void {
    if (state !== 'failing') return
    if (isLossLogged) log.info('queue back')
    isLossLogged = false
    if (isLost) onBack()
    state = 'trying'
    after(settleMs, settle)
    // One that fails at once pauses them again.
    for (const worker of workers) if (!isFailing()) worker.resume()
  }

  function isFailing(): boolean {
    return state === 'failing'
  }

  function settle(): void {
    state = 'working'
    tries = 1
    if (isLost) return
    log.info({ leftOut: refused.forget() }, 'queue works again')
    onBack()
  }

  for (const queue of queues) queue.on('error', failed)
  for (const worker of workers) worker.on('error', (error: unknown) => !isOfOneJob(error) && failed(error))
  return {
    stop: () => {
      state = 'stopped'
      clearTimeout(timer)
    },
  }
}

/** Whether the queue refused what a worker said of a job that it has lost: the line about its run says so, or that of the one who has it. */
function isOfOneJob(error: unknown): boolean {
  return (
    error instanceof Error && /^(could not renew lock|missing (lock|key)|lock mismatch|job \S+ )/i.test(error.message)
  )
}

/** How long a repeated reason is omitted. */
const QUIET_MS = 60_000
/** The most reasons to remember. */
const MOST_REASONS = 100

export type SparseLog = {
  /** Writes a reason, unless that was written less than a minute ago; returns whether it did. */
  report(reason: string, facts?: object): boolean
  /** Returns the number of omitted reports, and forgets all reasons, so that each is written again. */
  forget(): number
}

/** Writes each reason once, then at most once a minute, with the number of omitted reports. */
export function createSparseLog(write: (fields: object) => void, monotonicMs: () => number): SparseLog {
  const reported = new Map<string, { atMs: number; leftOut: number }>()
  return {
    report: (reason, facts = {}) => {
      // Reasons of several jobs are equal.
      const key = reason.replace(/\bjob \S+/i, 'job')
      const last = reported.get(key)
      if (last !== undefined && monotonicMs() - last.atMs < QUIET_MS) {
        last.leftOut += 1
        return false
      }
      if (reported.size >= MOST_REASONS) reported.clear()
      reported.set(key, { atMs: monotonicMs(), leftOut: 0 })
      write({ reason, ...facts, ...(last !== undefined && last.leftOut > 0 && { leftOut: last.leftOut }) })
      return true
    },
    forget: () => {
      const leftOut = [...reported.values()].reduce((sum, each) => sum + each.leftOut, 0)
      reported.clear()
      return leftOut
    },
  }
}
