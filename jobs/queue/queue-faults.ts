import type { EventEmitter } from 'node:events'
import { QueueUnavailable, isOurs } from '../../src/errors/errors.ts'
import { codeOf, connectionsTaken, tlsFailure } from '../../src/errors/faults.ts'
import type { Logger } from '../../src/machine/log.ts'
import { backoffMs } from '../../src/time/durations.ts'
import type { Timings } from '../timings.ts'
import { within } from '../../src/machine/timers.ts'

/** An error of the queue as QueueUnavailable, without its cause, which may hold a password. Our own errors and defects stay. */
export function queueUnavailable(error: unknown, place: string): unknown {
  if (isOurs(error) || DEFECTS.some((kind) => error instanceof kind)) return error
  const { code, reason } = failureOf(error)
  const said = { what: reason, fix: `${REMEDY} ${connectionsTaken(reason, 10)}`.trimEnd() }
  const { what, fix } = tlsFailure(code, reason) ?? said
  return new QueueUnavailable(
    `The queue at ${place} cannot be used: ${what}. ${fix} 'customer-mirror sync' needs no queue.`,
  )
}

/** The code of an error, or its name, and its reason in one line, without arguments and passwords. */
export function failureOf(error: unknown): { code: string; reason: string } {
  // Node names every address that it tried in one error.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error
  if (!(first instanceof Error)) return { code: 'unknown', reason: 'it failed' }
  const code = codeOf(first) ?? first.name
  return { code, reason: firstLine(first.message) || code }
}

/** `code: reason`, for a log. */
export function codeAndReason(error: unknown): string {
  const { code, reason } = failureOf(error)
  return `${code}: ${reason.slice(0, 200)}`
}

/** The first line, without the digest of a script, the arguments of a command (those of AUTH are a password) and a password in an address. */
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

type Emitter = Pick<EventEmitter, 'on'>

/**
 * Pauses the workers while the queue is lost or refuses writes: BullMQ would retry at once, again and again. Current runs continue.
 *
 *     working ── error ──▶ failing ── written ──▶ trying ── quiet for a while ──▶ working
 *                           ▲  │ not: waits longer  │
 *                           │  ▼                    │
 *                           └──────── error ────────┘
 *
 * Once a minute an error is logged, as clients report each attempt to reconnect, and at last its end; then `onBack`: data of the queue may be lost.
 */
export function watchQueue(watching: {
  queues: readonly Emitter[]
  workers: readonly (Emitter & { pause(doNotWaitActive: boolean): Promise<void>; resume(): unknown })[]
  write: () => Promise<void>
  log: Pick<Logger, 'info' | 'warn'>
  timings: Pick<Timings, 'lookMs' | 'firstPauseMs' | 'longestPauseMs' | 'settleMs'>
  monotonicMs: () => number
  random: () => number
  onBack: () => void
}): { stop: () => void } {
  const { queues, workers, write, log, timings, monotonicMs, random, onBack } = watching
  const { lookMs, firstPauseMs: firstMs, longestPauseMs: longestMs } = timings
  const logFailure = onceAMinute((facts) => log.warn(facts, 'queue fails'), monotonicMs)
  let state: 'working' | 'failing' | 'trying' | 'stopped' = 'working'
  let [tries, isLogged] = [1, false]
  let timer: NodeJS.Timeout | undefined
  const after = (ms: number, work: () => void) => {
    clearTimeout(timer)
    timer = setTimeout(work, ms)
  }

  function failed(error: unknown): void {
    if (state === 'stopped') return
    isLogged = logFailure({ reason: codeAndReason(error) }) || isLogged
    if (state === 'failing') return
    if (state === 'trying') tries += 1
    state = 'failing'
    for (const worker of workers) worker.pause(true).catch(failed)
    lookLater()
  }

  // Workers that failed together do not come back together, and none asks a queue that refuses it again at once.
  const lookLater = () => after(backoffMs(tries, random(), { firstMs, longestMs, least: 0.5 }), () => void look())

  async function look(): Promise<void> {
    await within(write().then(resume, failed), lookMs, undefined)
    if (state !== 'failing') return
    tries += 1
    lookLater()
  }

  function resume(): void {
    if (state !== 'failing') return
    state = 'trying'
    after(timings.settleMs, settle)
    for (const worker of workers) worker.resume()
  }

  function settle(): void {
    state = 'working'
    tries = 1
    if (isLogged) log.info('queue back')
    isLogged = false
    onBack()
  }

  for (const queue of queues) queue.on('error', failed)
  for (const worker of workers) worker.on('error', (error: unknown) => !isNoFailure(error) && failed(error))
  return {
    stop: () => {
      state = 'stopped'
      clearTimeout(timer)
    },
  }
}

/** Whether an error says nothing of the queue: it refused something of a job that a worker has lost, or ended a wait as it became a replica. */
function isNoFailure(error: unknown): boolean {
  const said = /^(could not renew lock|missing (lock|key)|lock mismatch|job \S+ |UNBLOCKED)/i
  return error instanceof Error && said.test(error.message)
}

/** Writes at most one line a minute, with the number of those left out since the one before. Returns whether it wrote. */
export function onceAMinute(write: (facts: object) => void, monotonicMs: () => number): (facts: object) => boolean {
  let [writtenMs, leftOut] = [-Infinity, 0]
  return (facts) => {
    const isWritten = monotonicMs() - writtenMs >= 60_000
    if (isWritten) write({ ...facts, ...(leftOut > 0 && { leftOut }) })
    leftOut = isWritten ? 0 : leftOut + 1
    if (isWritten) writtenMs = monotonicMs()
    return isWritten
  }
}
