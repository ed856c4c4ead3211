import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { env as ours, execPath } from 'node:process'
import { PassThrough } from 'node:stream'
import { expect, onTestFinished } from 'vitest'
import { z } from 'zod'
import type { Timings } from '../../jobs/timings.ts'
import { runWorker } from '../../jobs/worker.ts'
import { aGate } from './gate.ts'
import { aJobsWorkplace, aQueue } from './jobs-workplace.ts'
import { valueOf } from './mirror-file.ts'
import { type RedisServer, startRedis } from '../../bench/redis-server.ts'
import { childProgram, linesOf } from './run-cli.ts'
import { aSandbox, organizationsOf } from './workplace.ts'

/** A log line of a worker, with the fields used in tests. */
const logLine = z.looseObject({
  msg: z.string(),
  report: z.looseObject({ organization: z.string() }).optional(),
  verdict: z.looseObject({ kind: z.string() }).optional(),
  http: z.string().optional(),
})
export type LogLine = z.output<typeof logLine>

/** What a worker logs. */
export type WorkerLog = {
  /** All of its output so far. */
  lines: string[]
  /** The first matching line, past or future. Rejects when the worker ends without one. */
  said(matches: (line: LogLine) => boolean): Promise<LogLine>
  /** The line about the end of a run. */
  ran(organization: string, verdict?: string): Promise<LogLine>
}

/** Faster than in production, and slow enough for a busy machine. */
const QUICK: Partial<Timings> = {
  lockMs: 4000,
  stalledMs: 500,
  catchUpMs: 300,
  configLookMs: 200,
  leftWaitMs: 250,
  leasedWaitMs: 250,
  cancelLookMs: 50,
  mirrorWaitMs: 250,
  firstRetryMs: 100,
  longestRetryMs: 500,
  lookMs: 150,
  firstPauseMs: 100,
  longestPauseMs: 500,
  settleMs: 500,
}

/** Reads what a worker writes. */
function readWorkerLog(stream: NodeJS.ReadableStream): WorkerLog {
  const { lines, find } = linesOf(stream)
  const said: WorkerLog['said'] = (matches) =>
    find((text) => {
      const line = lineOf(text)
      return line !== undefined && matches(line) ? line : undefined
    })
  return {
    lines,
    said,
    ran: (organization, verdict = 'complete') =>
      said((line) => line.report?.organization === organization && line.verdict?.kind === verdict),
  }
}

function lineOf(text: string): LogLine | undefined {
  if (!text.startsWith('{')) return undefined
  const parsed = logLine.safeParse(JSON.parse(text))
  return parsed.success ? parsed.data : undefined
}

/** Whether a line is the message. */
export function message(text: string): (line: LogLine) => boolean {
  return ({ msg }) => msg === text
}

/** A worker in this process, stopped with the test at the latest. */
type WorkerHere = WorkerLog & {
  /** As a signal does; fulfils once it has ended. */
  stop(): Promise<void>
}

/** Starts a worker with a configuration in this process, which takes a tenth of the time that a process takes. */
export function startWorker(
  { config }: { config: string },
  { timings = {} }: { timings?: Partial<Timings> } = {},
): WorkerHere {
  const stopping = new AbortController()
  const stderr = new PassThrough()
  const log = readWorkerLog(stderr)
  const http = { host: '127.0.0.1', port: 0 }
  const ended = runWorker(
    { config, embedded: false, http, logLevel: 'info', timings: { ...QUICK, ...timings } },
    { signal: stopping.signal, stderr },
  ).finally(() => stderr.end())
  const stop = () => {
    stopping.abort()
    return ended
  }
  onTestFinished(stop)
  return { ...log, stop }
}

/** A worker that runs as a process, killed with the test at the latest. */
type WorkerProcess = WorkerLog & {
  send(signal: NodeJS.Signals): void
  ended: Promise<{ code: number | null; signal: string | null; tookMs: number }>
}

/** Starts a worker with the configuration in a folder as a process, for promises about signals, exit codes and the environment. */
export function startWorkerProcess(
  { folder, config }: { folder: string; config: string },
  { timings = {}, env = {} }: { timings?: Partial<Timings>; env?: Record<string, string> } = {},
): WorkerProcess {
  const options = JSON.stringify({ config, timings: { ...QUICK, ...timings } })
  const child = spawn(execPath, childProgram('work', options), {
    cwd: folder,
    env: { PATH: '/usr/bin:/bin', NODE_COMPILE_CACHE: ours['NODE_COMPILE_CACHE'], ...env },
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  const log = readWorkerLog(child.stderr)
  let stoppedAtMs = 0
  const ended = once(child, 'exit').then(() => ({
    code: child.exitCode,
    signal: child.signalCode,
    tookMs: performance.now() - stoppedAtMs,
  }))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })

  return {
    ...log,
    send: (signal) => {
      stoppedAtMs = performance.now()
      child.kill(signal)
    },
    ended,
  }
}

export function expectWhole(mirrorFile: string, customers: number): void {
  expect(valueOf(mirrorFile, 'SELECT count(*) FROM customers')).toBe(customers)
  expect(valueOf(mirrorFile, `SELECT status FROM runs ORDER BY id DESC LIMIT 1`)).toBe('complete')
  expect(valueOf(mirrorFile, `SELECT count(*) FROM runs WHERE status = 'running'`)).toBe(0)
  expect(valueOf(mirrorFile, 'SELECT count(*) FROM leases')).toBe(0)
}

export async function aRedis(options: Parameters<typeof startRedis>[0] = {}): Promise<RedisServer> {
  const redis = await startRedis(options)
  onTestFinished(() => redis.close())
  return redis
}

/** A folder with a configuration for a queue on that server. */
export async function aPlaceOn(
  redis: RedisServer,
  { organizations = 1, gate = aGate({ fromPage: 1000 }), queue = aQueue(redis.url) } = {},
) {
  const customers = Array.from({ length: organizations }, () => 400)
  const sandbox = await aSandbox({ customers, intercept: gate.intercept })
  return aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1 }), { queue })
}

export async function aWorkerOn(redis: RedisServer, gate?: ReturnType<typeof aGate>) {
  const place = await aPlaceOn(redis, gate && { gate })
  return { redis, place, worker: startWorker(place) }
}

/** One more than a worker mirrors at a time, so that a job is always waiting: BullMQ asks for it at once after an error. */
export const ORGANIZATIONS = 9

/** What makes a Redis refuse to write, what ends that, and what is said of it. */
export const REFUSALS: [what: string, begin: string[], end: string[], reason: string, remedy: string][] = [
  [
    'is full',
    ['CONFIG', 'SET', 'maxmemory', '1'],
    ['CONFIG', 'SET', 'maxmemory', '0'],
    'OOM',
    'repair there what it says',
  ],
  [
    'has become a replica',
    ['REPLICAOF', '127.0.0.1', '1'],
    ['REPLICAOF', 'NO', 'ONE'],
    'READONLY',
    'repair there what it says',
  ],
]

/** Gives the server a command in words. */
export async function command(redis: RedisServer, [name = '', ...parameters]: string[]): Promise<void> {
  await redis.command(name, ...parameters)
}

/** What the worker answers to /readyz. */
export async function readiness(worker: WorkerLog): Promise<Record<string, unknown>> {
  const { http } = await worker.said((line) => line.http !== undefined)
  return z.record(z.string(), z.unknown()).parse(await (await fetch(`${http}/readyz`)).json())
}
