import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { env } from 'node:process'
import { Redis } from 'ioredis'
import { freePort } from '../../bench/free-port.ts'

/** A Redis of its own in a temporary folder, that may be killed and started again. */
export type RedisServer = {
  url: string
  /** As `kill -9`. */
  kill(): Promise<void>
  /** Starts it again on the same port, with what it had written, if it was to write. */
  start(): Promise<void>
  /** Runs one command. */
  command(name: string, ...parameters: string[]): Promise<unknown>
  close(): Promise<void>
}

/** The server program on this machine; undefined where there is none. */
export function redisProgram(): string | undefined {
  return ['redis-server', 'valkey-server']
    .flatMap((name) => (env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name)))
    .find((path) => existsSync(path))
}

/** Starts Redis or Valkey on a free port; with `appendOnly` it forgets nothing when it is killed. A cluster has no slots yet. */
export async function startRedis({ appendOnly = false, password = '', isCluster = false } = {}): Promise<RedisServer> {
  const program = redisProgram()
  if (program === undefined) throw new Error('There is no redis-server or valkey-server on the PATH.')
  const folder = mkdtempSync(join(tmpdir(), 'customer-mirror-redis-'))
  const port = await freePort()
  const server = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '']
  const durability = ['--appendonly', appendOnly ? 'yes' : 'no', '--appendfsync', 'always']
  const sharing = isCluster ? ['--cluster-enabled', 'yes'] : []
  const access = password === '' ? [] : ['--requirepass', password]
  const url = `redis://${password === '' ? '' : `:${password}@`}127.0.0.1:${port}`
  let child: ChildProcess | undefined

  async function start(): Promise<void> {
    child = spawn(program ?? '', [...server, ...durability, ...sharing, ...access], { stdio: 'ignore' })
    await command('ping')
  }

  async function kill(): Promise<void> {
    const running = child
    child = undefined
    if (running === undefined) return
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
    url,
    kill,
    start,
    command,
    close: async () => {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
