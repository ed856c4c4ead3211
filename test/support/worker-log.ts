import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { env as ours, execPath } from 'node:process'
import { PassThrough } from 'node:stream'
import { expect, onTestFinished } from 'vitest'
import { z } from 'zod'
import type { Timings } from '../../jobs/timings.ts'
import { runWorker } from '../../jobs/worker.ts'
import { aGate, aSandbox, organizationsOf, type Answering } from './workplace.ts'
import { aJobsWorkplace, aQueue } from './jobs-workplace.ts'
import { valueOf } from './mirror-file.ts'
import { type RedisServer, startRedis } from '../../bench/redis-server.ts'
import { childProgram, linesOf } from './run-cli.ts'

const logLine = z.looseObject({
  msg: z.string(),
  report: z.looseObject({ organization: z.string() }).optional(),
  verdict: z.looseObject({ kind: z.string() }).optional(),
  http: z.string().optional(),
})
export type LogLine = z.output<typeof logLine>

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

/** Reads what a worker writes: all `lines` so far, the first that matches, past or future, and that about the end of a run. */
function readWorkerLog(stream: NodeJS.ReadableStream) {
  const { lines, find } = linesOf(stream)
  /** Rejects when the worker ends without such a line. */
  const said = (matches: (line: LogLine) => boolean) =>
    find((text) => {
      const line = text.startsWith('{') ? logLine.safeParse(JSON.parse(text)).data : undefined
      return line !== undefined && matches(line) ? line : undefined
    })
  const ran = (organization: string, verdict = 'complete') =>
    said((line) => line.report?.organization === organization && line.verdict?.kind === verdict)
  return { lines, said, ran }
}

export function message(text: string): (line: LogLine) => boolean {
  return ({ msg }) => msg === text
}

/** Starts a worker in this process, in a tenth of the time. `stop` does what a signal does, with the test at the latest, and waits. */
export function startWorker({ config }: { config: string }, { timings = {} }: { timings?: Partial<Timings> } = {}) {
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

/** Starts a worker as a process, for promises about signals, exit codes and the environment. It is killed with the test at the latest. */
export function startWorkerProcess(
  { folder, config }: { folder: string; config: string },
  { timings = {} }: { timings?: Partial<Timings> } = {},
) {
  const options = JSON.stringify({ config, timings: { ...QUICK, ...timings } })
  const child = spawn(execPath, childProgram('work', options), {
    cwd: folder,
    env: { PATH: '/usr/bin:/bin', NODE_COMPILE_CACHE: ours['NODE_COMPILE_CACHE'] },
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  const log = readWorkerLog(child.stderr)
  let stoppedAtMs = 0
  const ended = once(child, 'exit').then(() => {
    return { code: child.exitCode, signal: child.signalCode, tookMs: performance.now() - stoppedAtMs }
  })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })

  const send = (signal: NodeJS.Signals) => {
    stoppedAtMs = performance.now()
    child.kill(signal)
  }
  return { ...log, send, ended }
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

export async function aPlaceOn(redis: RedisServer, { organizations = 1, gate = aGate({ fromPage: 1000 }) } = {}) {
  const customers = Array.from({ length: organizations }, () => 400)
  const sandbox = await aSandbox({ customers, intercept: gate.intercept })
  return aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1 }), { queue: aQueue(redis.url) })
}

/** What makes a Redis refuse to write, what ends that, and what is said of it. */
export const REFUSALS: [what: string, begin: string, end: string, reason: string][] = [
  ['is full', 'CONFIG SET maxmemory 1', 'CONFIG SET maxmemory 0', 'OOM'],
  ['has become a replica', 'REPLICAOF 127.0.0.1 1', 'REPLICAOF NO ONE', 'READONLY'],
]

export async function command(redis: RedisServer, words: string): Promise<void> {
  const [name = '', ...parameters] = words.split(' ')
  await redis.command(name, ...parameters)
}

export async function readiness({ said }: Pick<ReturnType<typeof startWorker>, 'said'>) {
  const { http } = await said((line) => line.http !== undefined)
  return z.record(z.string(), z.unknown()).parse(await (await fetch(`${http}/readyz`)).json())
}

type Settings = Parameters<typeof aJobsWorkplace>[1] & { each?: object; timings?: Partial<Timings> }

/** A sandbox, a folder with a configuration for its organizations, each of them with the settings `each`, and their worker. */
export async function aWorkerOf(options: Answering, { each = {}, timings = {}, ...settings }: Settings = {}) {
  const sandbox = await aSandbox(options)
  const place = aJobsWorkplace(organizationsOf(sandbox, each), settings)
  return { sandbox, place, worker: startWorker(place, { timings }) }
}
