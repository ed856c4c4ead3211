import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { UsageError } from '../../src/errors/errors.ts'
import { freePort } from '../free-port.ts'

/** A Redis of the soak alone. */
export type RedisProcess = {
  url: string
  isUp: () => boolean
  start: () => void
  kill: () => Promise<void>
  /** Deletes what it has written. Only while it is down. */
  forget: () => void
  freeze: () => void
  thaw: () => void
}

/** Starts Redis or Valkey on a free port of 127.0.0.1, with its files in a folder. Throws a UsageError where there is none. */
export async function startRedis(folder: string, path = process.env['PATH'] ?? ''): Promise<RedisProcess> {
  const program = ['redis-server', 'valkey-server']
    .flatMap((name) => path.split(delimiter).map((each) => join(each, name)))
    .find((file) => existsSync(file))
  if (program === undefined)
    throw new UsageError(
      'There is no redis-server or valkey-server on the PATH. Install one, or pass --queue embedded.',
    )
  const port = await freePort()
  const network = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder]
  // A kill loses nothing; what is lost is lost by an event of its own.
  const durability = ['--save', '', '--appendonly', 'yes', '--appendfsync', 'always']
  let child: ChildProcess | undefined
  let isFrozen = false
  const start = (): void => {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    child = spawn(program, [...network, ...durability], { stdio: 'ignore' })
  }
  start()
  return {
    url: `redis://127.0.0.1:${port}`,
    isUp: () => child !== undefined && !isFrozen,
    start,
    kill: async () => {
      const running = child
      child = undefined
      if (running === undefined || running.exitCode !== null || running.signalCode !== null) return
      const ended = once(running, 'exit')
      running.kill('SIGKILL')
      await ended
    },
    forget: () => rmSync(folder, { recursive: true, force: true }),
    freeze: () => {
      isFrozen = true
      child?.kill('SIGSTOP')
    },
    thaw: () => {
      isFrozen = false
      child?.kill('SIGCONT')
    },
  }
}
