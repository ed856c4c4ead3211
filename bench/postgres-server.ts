import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { env, getuid, kill as sendSignal } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { UsageError } from '../src/errors/errors.ts'

/** The number of a user who owns nothing: the server refuses to run as root. */
export const PLAIN_USER = 65_534
const USER = 'mirror'
const DATABASE = 'mirrors'
/** What makes the files of a server, and how. */
export const NEW = ['initdb', '--username', USER, '--auth', 'trust', '--encoding', 'UTF8', '--no-locale'] as const
const COPIED = ['pg_basebackup', '--write-recovery-conf', '--checkpoint', 'fast'] as const
const FAST = ['fsync=off', 'full_page_writes=off', 'autovacuum=off']

type Wanted = {
  /** Whether what it committed outlives a crash; otherwise it is faster. */
  isDurable?: boolean
  /** The address of a server of which it is a hot standby, which follows all that is committed there. */
  standbyOf?: string
  /** More of its settings, such as `wal_level=logical`. */
  settings?: readonly string[]
  /** An archive of the files of a server that was never started, for the next one. It is made where it is not there. */
  newFiles?: string
}

/**
 * Starts PostgreSQL on a free port of 127.0.0.1, which may be killed and started again, with its files in a temporary folder. What it committed outlives a kill, unless it is to
 * be fast instead of durable. Throws a UsageError where there is none.
 */
export async function startPostgres({ isDurable = true, standbyOf, settings = [], newFiles }: Wanted = {}) {
  const programs = postgresPrograms()
  if (programs === undefined) throw new UsageError('There is no initdb and postgres here. Install PostgreSQL.')
  const folder = mkdtempSync(join(tmpdir(), 'customer-mirror-postgres-'))
  const as = getuid?.() === 0 ? { uid: PLAIN_USER, gid: PLAIN_USER } : {}
  if (getuid?.() === 0) chownSync(folder, PLAIN_USER, PLAIN_USER)
  const data = join(folder, 'data')
  const make = () => {
    const [maker, ...making] = standbyOf === undefined ? NEW : [...COPIED, '--dbname', standbyOf]
    const program = join(dirname(realpathSync(join(programs, 'postgres'))), maker)
    run(program, [...making, '--pgdata', data, '--no-sync'], { ...as, cwd: folder })
  }
  if (newFiles === undefined) make()
  else madeOnce(newFiles, folder, make)
  const port = await freePort()
  const network = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=300']
  const flags = [...network, ...(isDurable ? [] : FAST), ...settings].flatMap((setting) => ['-c', setting])
  const place = `postgres://${USER}@127.0.0.1:${port}`
  let child: ChildProcess | undefined
  let accepts = false
  /** On the same port, with what it had committed. */
  const start = async (): Promise<void> => {
    child = spawn(join(programs, 'postgres'), ['-D', data, ...flags], { ...as, cwd: folder, stdio: 'ignore' })
    await untilAccepting(`${place}/postgres`, child)
    accepts = true
  }
  /** As `kill -9` of all of its processes. */
  const kill = async (): Promise<void> => {
    accepts = false
    const running = child
    child = undefined
    if (running?.pid !== undefined && isRunning(running)) await killAll(running, running.pid)
  }
  await start()
  if (standbyOf === undefined) await oneStatement(`${place}/postgres`, `CREATE DATABASE ${DATABASE}`)
  return {
    /** The address of its database, without a password: it accepts connections of this machine only. */
    url: `${place}/${DATABASE}`,
    isUp: () => accepts,
    start,
    kill,
    /** Ends it at once, with the memory that its processes share, which would outlive a kill; and removes its files. */
    close: async () => {
      accepts = false
      if (child !== undefined && isRunning(child)) {
        const ended = once(child, 'exit')
        child.kill('SIGQUIT')
        await ended
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export type PostgresServer = Awaited<ReturnType<typeof startPostgres>>

/** Unpacks the archive into the folder, or fills the folder and packs it. */
function madeOnce(archive: string, folder: string, make: () => void): void {
  if (existsSync(archive)) return run('tar', ['-xf', archive, '-C', folder])
  make()
  mkdirSync(dirname(archive), { recursive: true })
  const own = `${archive}-${randomUUID()}`
  run('tar', ['-cf', own, '-C', folder, '.'])
  renameSync(own, archive)
}

function run(program: string, args: readonly string[], options: { cwd?: string; uid?: number; gid?: number } = {}) {
  const { status, stderr, error } = spawnSync(program, args, { ...options, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} failed: ${error?.message ?? stderr}`)
}

/** The folder of the server's programs on this machine, those of the newest version; undefined where there is none. */
export function postgresPrograms(): string | undefined {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).toSorted((one, other) => Number(other) - Number(one)) : []
  return [...(env['PATH'] ?? '').split(delimiter), ...versions.map((version) => join(debian, version, 'bin'))].find(
    (folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')),
  )
}

async function untilAccepting(url: string, server: ChildProcess): Promise<void> {
  for (;;) {
    if (!isRunning(server)) throw new Error(`postgres ended with ${server.exitCode ?? server.signalCode}`)
    const isAccepting = await oneStatement(url, 'SELECT 1').then(
      () => true,
      () => false,
    )
    if (isAccepting) return
    await sleep(LOOK_MS)
  }
}

/** Runs a statement, or several at once, on a connection of its own. */
export async function oneStatement(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query(statement)
  } finally {
    await client.end().catch(() => {})
  }
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null
}

async function killAll(server: ChildProcess, pid: number): Promise<void> {
  const ended = once(server, 'exit')
  const others = childrenOf(pid)
  server.kill('SIGKILL')
  for (const other of others) endNow(other)
  await ended
  // Until the last one is gone, the memory that they share is in use, and no other server may start there.
  while (others.some((other) => statusOf(other) !== undefined && !/^State:\s*Z/m.test(statusOf(other) ?? '')))
    await sleep(LOOK_MS)
}

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((other) => Number(/^PPid:\s*(\d+)/m.exec(statusOf(other) ?? '')?.[1]) === pid)
}

/** Undefined for a process that is gone. */
function statusOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return undefined
  }
}

function endNow(pid: number): void {
  try {
    sendSignal(pid, 'SIGKILL')
  } catch {
    // It is gone.
  }
}

const LOOK_MS = 20

/** A port of 127.0.0.1 that no program listens on at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('The system gave no port')
  return address.port
}
