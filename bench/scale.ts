import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { Client } from 'pg'
import { MANY_AT_ONCE } from './groups.ts'
import { describeMachine } from './measure.ts'
import { baseUrlOf, type Measurement, organizationIds, type Task } from './messages.ts'
import { startPostgres } from './postgres-server.ts'
import { runProgram } from './run-program.ts'
import { startService } from './service.ts'

/** What a thousand organizations are worked out from: one organization on both databases, and several in a file at the same time. */
export type Scale = {
  machine: Record<string, string>
  customers: number
  /** The size of an answer with a hundred customers, uncompressed. */
  pageBytes: number
  nights: { SQLite: Nights<Measurement>; PostgreSQL: Nights<Measurement & ServerWork> }
  /** Bytes of tables with their indexes, by table. */
  storage: { SQLite: Record<string, number>; PostgreSQL: Record<string, number> }
  /** So many such organizations at the same time, at rest. */
  atOnce: { organizations: number; rest: Measurement }
}

export const NIGHTS = { load: 'initial sync', rest: 'at rest', changed: '1 % changed' } as const
type Nights<Night> = Record<keyof typeof NIGHTS, Night>

/** What a PostgreSQL server did for a run, all of its processes together; `networkBytes` both ways. */
type ServerWork = { serverCpuMs: number; walBytes: number; transactions: number; networkBytes: number }

/** Measured with so many organizations at once, to see what each of them takes of the memory. */
const AT_ONCE = 4

/** Requests a minute: far more than services allow, and few enough for each page to be saved alone, as it is at their limits. */
const PACE = 3000

/** Measures on a PostgreSQL that it starts. Throws a UsageError where there is none. */
export async function measureScale(folder: string, customers: number, say: (text: string) => void): Promise<Scale> {
  const dataset = { organizations: AT_ONCE, customers }
  const postgres = await startPostgres()
  const server = await measuredServer(postgres.url)
  const service = await startService(dataset)
  const run = (file: string, organizations: readonly string[], more: Partial<Task>) =>
    runProgram(
      'mirror',
      {
        ...{ origin: service.origin, organizations: [...organizations], file: join(folder, file), scan: 'chain' },
        ...{ concurrency: MANY_AT_ONCE, sideBySide: AT_ONCE, ...more },
      },
      {},
    )
  /** An initial sync, the second night, which is not kept, a night at rest, and one with 1 % changed. */
  const nightsOf = async <Night>(what: string, night: () => Promise<Night>): Promise<Nights<Night>> => {
    say(what)
    await service.answer({ latencyMs: 0, gzip: false, edition: 'base' })
    const load = await night()
    await night()
    const rest = await night()
    await service.answer({ latencyMs: 0, gzip: false, edition: 'changed' })
    return { load, rest, changed: await night() }
  }
  const all = organizationIds(dataset)
  const [one = ''] = all
  const alone = { requestsPerMinute: PACE }
  try {
    const SQLite = await nightsOf('SQLite, one organization', () => run('one.db', [one], alone))
    const { rest } = await nightsOf('SQLite, several organizations at once', () => run('all.db', all, {}))
    const PostgreSQL = await nightsOf('PostgreSQL, one organization', () =>
      server.measure(() => run('none.db', [one], { ...alone, mirror: server.address })),
    )
    const page = await fetch(`${baseUrlOf(service.origin, one)}/customers?page=2&per_page=100`)
    return {
      machine: { ...describeMachine(folder), PostgreSQL: server.version, load: busyness() },
      customers,
      pageBytes: (await page.arrayBuffer()).byteLength,
      nights: { SQLite, PostgreSQL },
      storage: { SQLite: storageOf(join(folder, 'one.db')), PostgreSQL: await server.storage() },
      atOnce: { organizations: AT_ONCE, rest },
    }
  } finally {
    await server.close()
    await service.close()
    await postgres.close()
  }
}

/** Other programs make the CPU time of this one longer. */
function busyness(): string {
  const [, average = 0] = loadavg()
  return `${average.toFixed(0)} on average over the last five minutes, which are the threads of all programs that wanted a processor`
}

function storageOf(file: string): Record<string, number> {
  const db = new Database(file, { readonly: true })
  const sizes = db.prepare<[], { name: string; bytes: number }>(
    `SELECT tbl_name AS name, sum(pgsize) AS bytes FROM dbstat JOIN sqlite_schema USING (name) GROUP BY tbl_name`,
  )
  const found = Object.fromEntries(sizes.all().map(({ name, bytes }) => [name, bytes]))
  db.close()
  return found
}

/**
 * Measures what a server of this machine does for a program that connects to `address`. Its own address is that of an empty database, for
 * a superuser: the number of the server's process is in a file of the server.
 */
async function measuredServer(url: string) {
  const client = new Client({ connectionString: url })
  await client.connect()
  const first = async (sql: string): Promise<string> => {
    const { rows } = await client.query<{ value: unknown }>(`SELECT (${sql})::text AS value`)
    return String(rows[0]?.value)
  }
  const pid = Number((await first(`pg_read_file('postmaster.pid')`)).split('\n')[0])
  const proxy = await countingProxy(new URL(url))
  const transactions = async () => {
    await client.query('SELECT pg_stat_clear_snapshot()')
    return Number(await first('SELECT sum(xact_commit + xact_rollback) FROM pg_stat_database'))
  }
  return {
    address: proxy.address,
    version: (await first(`current_setting('server_version')`)).split(' ')[0] ?? '',
    async measure<Result>(work: () => Promise<Result>): Promise<Result & ServerWork> {
      const lsn = await first('pg_current_wal_lsn()')
      const [before, cpuMs, bytes] = [await transactions(), familyCpuMs(pid), proxy.bytes()]
      const result = await work()
      // Backends report what they did when they end, or a moment later.
      await sleep(1500)
      return {
        ...result,
        serverCpuMs: familyCpuMs(pid) - cpuMs,
        walBytes: Number(await first(`pg_wal_lsn_diff(pg_current_wal_lsn(), '${lsn}')`)),
        transactions: (await transactions()) - before,
        networkBytes: proxy.bytes() - bytes,
      }
    },
    async storage(): Promise<Record<string, number>> {
      const { rows } = await client.query<{ name: string; bytes: string }>(
        `SELECT relname AS name, pg_total_relation_size(oid) AS bytes FROM pg_class
         WHERE relkind = 'r' AND relnamespace = 'customer_mirror'::regnamespace`,
      )
      return Object.fromEntries(rows.map(({ name, bytes }) => [name, Number(bytes)]))
    },
    async close() {
      proxy.close()
      await client.end()
    },
  }
}

/** CPU time of a process and its children, those that have ended included. */
function familyCpuMs(pid: number): number {
  const ended = cpuFields(pid)
  const living = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => cpuFields(Number(name)))
    .filter(({ parent }) => parent === pid)
  return 10 * (ended.own + ended.children + living.reduce((sum, { own }) => sum + own, 0))
}

/** In hundredths of a second; see proc(5). */
function cpuFields(pid: number): { parent: number; own: number; children: number } {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const at = (place: number) => Number(fields[place] ?? 0)
    return { parent: at(1), own: at(11) + at(12), children: at(13) + at(14) }
  } catch {
    return { parent: 0, own: 0, children: 0 }
  }
}

/** Passes bytes on to the server, and counts them. */
async function countingProxy(server: URL) {
  let bytes = 0
  const proxy = createServer((near) => {
    const far = connect(Number(server.port), server.hostname)
    const directions = [
      [near, far],
      [far, near],
    ] as const
    for (const [from, to] of directions) {
      from.on('data', (chunk) => (bytes += chunk.length))
      from.on('error', () => to.destroy())
      from.pipe(to)
    }
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const listening = proxy.address()
  const address = new URL(server)
  address.host = `127.0.0.1:${typeof listening === 'object' ? listening?.port : ''}`
  return { address: address.href, bytes: () => bytes, close: () => proxy.close() }
}
