import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { env, getuid, kill as sendSignal } from 'node:process'
import { Client } from 'pg'
import { POSTGRES_USER } from '../mirror-choice.ts'
import { PLAIN_USER } from '../plain-user-setup.ts'
import { freePort } from '../redis-server.ts'

/** A PostgreSQL of its own in a temporary folder, that may be killed and started again. */
export type PostgresServer = {
  /** The address of its database, without a password: it accepts connections of this machine only. */
  url: string
  /** Makes another database like that one, and returns its address. */
  another(name: string): Promise<string>
  /** As `kill -9` of all of its processes. */
  kill(): Promise<void>
  /** Starts it again on the same port, with what it had committed. */
  start(): Promise<void>
  close(): Promise<void>
}

const DATABASE = 'mirrors'

/** The folder of the server's programs on this machine, those of the newest version; undefined where there is none. */
export function postgresPrograms(): string | undefined {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).toSorted((one, other) => Number(other) - Number(one)) : []
  return [...(env['PATH'] ?? '').split(delimiter), ...versions.map((version) => join(debian, version, 'bin'))].find(
    (folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')),
  )
}

/** Starts PostgreSQL on a free port. With `isDurable` what was committed outlives a kill, as users have it. */
export async function startPostgres({ isDurable = false } = {}): Promise<PostgresServer> {
  const programs = postgresPrograms()
  if (programs === undefined) throw new Error('There is no initdb and postgres on this machine.')
  const folder = mkdtempSync(join(tmpdir(), 'customer-mirror-postgres-'))
  // The server refuses to run as root.
  const as = getuid?.() === 0 ? { uid: PLAIN_USER, gid: PLAIN_USER } : {}
  if (getuid?.() === 0) chownSync(folder, PLAIN_USER, PLAIN_USER)
  const data = join(folder, 'data')
  const made = spawnSync(
    join(programs, 'initdb'),
    [
      ...['--pgdata', data, '--username', POSTGRES_USER, '--auth', 'trust'],
      ...['--encoding', 'UTF8', '--no-locale', '--no-sync'],
    ],
    { ...as, cwd: folder, encoding: 'utf8' },
  )
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`)
  const port = await freePort()
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=300',
    ...(isDurable ? ['checkpoint_timeout=30s'] : ['fsync=off', 'full_page_writes=off', 'autovacuum=off']),
  ].flatMap((setting) => ['-c', setting])
  const place = `postgres://${POSTGRES_USER}@127.0.0.1:${port}`
  let child: ChildProcess | undefined

  async function start(): Promise<void> {
    child = spawn(join(programs ?? '', 'postgres'), ['-D', data, ...settings], { ...as, cwd: folder, stdio: 'ignore' })
    await untilAccepting(`${place}/postgres`, child)
  }

  async function kill(): Promise<void> {
    const running = child
    child = undefined
    if (running?.pid === undefined || running.exitCode !== null) return
    const ended = once(running, 'exit')
    const workers = childrenOf(running.pid)
    running.kill('SIGKILL')
    for (const worker of workers) endNow(worker)
    await ended
    // Until the last one is gone, the memory that they share is in use, and no other server may start there.
    await Promise.all(workers.map((worker) => untilGone(worker)))
  }

  await start()
  await oneStatement(`${place}/postgres`, `CREATE DATABASE ${DATABASE}`)
  await oneStatement(`${place}/${DATABASE}`, sqliteForms())
  return {
    url: `${place}/${DATABASE}`,
    another: async (name) => {
      await oneStatement(`${place}/postgres`, `CREATE DATABASE ${name} TEMPLATE ${DATABASE}`)
      return `${place}/${name}`
    },
    kill,
    start,
    close: async () => {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Makes what statements for SQLite call by other names. */
export function sqliteForms(): string {
  return readFileSync(new URL('sqlite-forms.sql', import.meta.url), 'utf8')
}

async function untilAccepting(url: string, server: ChildProcess): Promise<void> {
  for (;;) {
    if (server.exitCode !== null) throw new Error(`postgres ended with ${server.exitCode}`)
    const isAccepting = await oneStatement(url, 'SELECT 1').then(
      () => true,
      () => false,
    )
    if (isAccepting) return
    await aMoment()
  }
}

async function oneStatement(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query(statement)
  } finally {
    await client.end().catch(() => {})
  }
}

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((other) => parentOf(other) === pid)
}

function parentOf(pid: number): number | undefined {
  try {
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
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

async function untilGone(pid: number): Promise<void> {
  while (isAlive(pid)) await aMoment()
}

/** An ended process that its parent has not asked about yet keeps its number. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

function aMoment(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 20)
  })
}
