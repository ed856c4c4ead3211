import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { env } from 'node:process'
import { Redis } from 'ioredis'
import { UsageError } from '../src/errors/errors.ts'
import { freePort } from './postgres-server.ts'

/** The server program on this machine; undefined where there is none. */
export function redisProgram(): string | undefined {
  return ['redis-server', 'valkey-server']
    .flatMap((name) => (env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name)))
    .find((path) => existsSync(path))
}

type Wanted = {
  /** Where it has its files; by default a temporary folder. */
  folder?: string
  /** It forgets nothing when it is killed. */
  appendOnly?: boolean
  /** It has no slots yet. */
  isCluster?: boolean
}

/** Starts Redis or Valkey on a free port of 127.0.0.1, which may be killed and started again. Throws a UsageError where there is none. */
export async function startRedis({
  folder = mkdtempSync(join(tmpdir(), 'customer-mirror-redis-')),
  appendOnly = false,
  isCluster = false,
}: Wanted = {}) {
  const program = redisProgram()
  if (program === undefined) throw new UsageError('There is no redis-server or valkey-server on the PATH. Install one.')
  let port = await freePort()
  // Servers of a cluster speak to each other on a port that is greater by 10,000.
  if (isCluster) while (port > 55_535) port = await freePort()
  const server = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '']
  const durability = ['--appendonly', appendOnly ? 'yes' : 'no', '--appendfsync', 'always']
  const sharing = isCluster ? ['--cluster-enabled', 'yes'] : []
  const url = `redis://127.0.0.1:${port}`
  let child: ChildProcess | undefined
  let isFrozen = false

  /** On the same port, with what it had written, if it was to write. */
  async function start(): Promise<void> {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    child = spawn(program ?? '', [...server, ...durability, ...sharing], { stdio: 'ignore' })
    await command('ping')
  }

  /** As `kill -9`. */
  async function kill(): Promise<void> {
    const running = child
    child = undefined
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return
    const ended = once(running, 'exit')
    running.kill('SIGKILL')
    await ended
  }

  async function command(name: string, ...parameters: string[]): Promise<unknown> {
    const client = new Redis(url, { retryStrategy: () => 20, maxRetriesPerRequest: null })
    client.on('error', () => {})
    try {
      return await client.call(name, ...parameters)
    } finally {
      client.disconnect()
    }
  }

  await start()
  return {
    ...{ url, kill, start, command },
    isUp: () => child !== undefined && !isFrozen,
    /** Deletes what it has written. Only while it is down. */
    forget: () => rmSync(folder, { recursive: true, force: true }),
    freeze: () => {
      isFrozen = true
      child?.kill('SIGSTOP')
    },
    thaw: () => {
      isFrozen = false
      child?.kill('SIGCONT')
    },
    /** Ends it, and removes its files. */
    close: async () => {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export type RedisServer = Awaited<ReturnType<typeof startRedis>>
