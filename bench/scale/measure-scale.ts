import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Client } from 'pg'
import { MANY_AT_ONCE } from '../groups.ts'
import { describeMachine } from '../measure.ts'
import { type Measurement, organizationIds, type Task } from '../messages.ts'
import { runProgram } from '../run-program.ts'
import { type Service, startService } from '../service/service.ts'

/** Measured with so many organizations of this size at once, to see what each of them takes of the memory. */
const AT_ONCE = 4

/** Requests a minute: far more than services allow, and few enough for each page to be saved alone, as it is at their limits. */
const PACE = 3000

export type ScalePlan = {
  customers: number
  folder: string
  /** The address of an empty database of a server on this machine. */
  postgres: string
  say: (text: string) => void
}

/** Measures one organization in a SQLite file and in PostgreSQL, and several in a file at the same time. */
export async function measureScale({ customers, folder, postgres, say }: ScalePlan): Promise<Figures> {
  const dataset = { organizations: AT_ONCE, customers }
  const server = await measuredServer(postgres)
  const service = await startService(dataset)
  const task = (file: string, organizations: readonly string[], more: Partial<Task> = {}): Task => ({
    ...{ origin: service.origin, organizations: [...organizations], file: join(folder, file), scan: 'chain' },
    ...{ concurrency: MANY_AT_ONCE, sideBySide: AT_ONCE, ...more },
  })
  const [one = ''] = organizationIds(dataset)
  const program = (which: Task) => runProgram('mirror', which, {})
  try {
    say('SQLite, one organization')
    const paced = { requestsPerMinute: PACE }
    const alone = task('one.db', [one], paced)
    const sqlite = await nightsOf(service, () => program(alone))
    say('SQLite, several organizations at once')
    const all = task('all.db', organizationIds(dataset))
    const { rest } = await nightsOf(service, () => program(all))
    say('PostgreSQL, one organization')
    const elsewhere = task('none.db', [one], { ...paced, mirror: server.address })
    const nights = await nightsOf(service, () => server.measure(() => program(elsewhere)))
    return {
      machine: { ...describeMachine(folder), load: busyness() },
      customers,
      pageBytes: await pageBytes(service, one),
      sqlite: { nights: sqlite, storage: storageOf(alone.file) },
      atOnce: { organizations: AT_ONCE, rest },
      postgres: { version: server.version, nights, storage: await server.storage() },
    }
  } finally {
    await server.close()
    await service.close()
  }
}

/** Other programs make the CPU time of this one longer. */
function busyness(): string {
  const [, average = 0] = loadavg()
  return `${average.toFixed(0)} on average over the last five minutes, which are the threads of all programs that wanted a processor`
}

/** An initial sync, the second night, which is not kept, a night at rest, and one with 1 % changed. */
async function nightsOf<Night>(service: Service, run: () => Promise<Night>) {
  const answer = (edition: 'base' | 'changed') => service.answer({ latencyMs: 0, gzip: false, edition })
  await answer('base')
  const load = await run()
  await run()
  const rest = await run()
  await answer('changed')
  return { load, rest, changed: await run() }
}

async function pageBytes(service: Service, organization: string): Promise<number> {
  await service.answer({ latencyMs: 0, gzip: false, edition: 'base' })
  const page = await fetch(`${service.origin}/${organization}/api/v1/customers?page=2&per_page=100`)
  return (await page.arrayBuffer()).byteLength
}

function storageOf(file: string): Storage {
  const db = new Database(file, { readonly: true })
  const sizes = db.prepare<[], { name: string; bytes: number }>(
    `SELECT tbl_name AS name, sum(pgsize) AS bytes FROM dbstat JOIN sqlite_schema USING (name) GROUP BY tbl_name`,
  )
  const found = Object.fromEntries(sizes.all().map(({ name, bytes }) => [name, bytes]))
  db.close()
  return found
}

/** What a PostgreSQL server did for a run, all of its processes together. */
type ServerWork = {
  cpuMs: number
  walBytes: number
  transactions: number
  /** Between the program and the server, both ways. */
  networkBytes: number
  mostConnections: number
}

/** Bytes of tables with their indexes, by table. */
export type Storage = Record<string, number>

type Nights<Night> = { load: Night; rest: Night; changed: Night }

/** What was measured: one organization, in an initial sync, a night at rest, and one with 1 % changed. */
export type Figures = {
  machine: Record<string, string>
  customers: number
  /** The size of an answer with a hundred customers, uncompressed. */
  pageBytes: number
  sqlite: { nights: Nights<Measurement>; storage: Storage }
  /** So many such organizations at the same time, at rest. */
  atOnce: { organizations: number; rest: Measurement }
  postgres: { version: string; nights: Nights<{ program: Measurement; server: ServerWork }>; storage: Storage }
}

/** A PostgreSQL server of this machine, whose work is measured. */
type MeasuredServer = {
  /** The address of its database through which all bytes are counted. */
  address: string
  version: string
  measure<Result>(work: () => Promise<Result>): Promise<{ program: Result; server: ServerWork }>
  storage(): Promise<Storage>
  close(): Promise<void>
}

const SCHEMA = 'customer_mirror'

/** `address` is that of an empty database, for a superuser: the number of the server's process is in a file of the server. */
async function measuredServer(address: string): Promise<MeasuredServer> {
  const client = new Client({ connectionString: address })
  await client.connect()
  const first = async (sql: string): Promise<string> => {
    const { rows } = await client.query<{ value: unknown }>(`SELECT (${sql})::text AS value`)
    return String(rows[0]?.value)
  }
  const pid = Number((await first(`pg_read_file('postmaster.pid')`)).split('\n')[0])
  const counted = await countingProxy(new URL(address))

  return {
    address: counted.address,
    version: (await first(`current_setting('server_version')`)).split(' ')[0] ?? '',
    async measure(work) {
      const transactions = async () => {
        await client.query('SELECT pg_stat_clear_snapshot()')
        return Number(await first('SELECT sum(xact_commit + xact_rollback) FROM pg_stat_database'))
      }
      const lsn = await first('pg_current_wal_lsn()')
      const [before, cpuMs, bytes] = [await transactions(), familyCpuMs(pid), counted.bytes()]
      counted.forgetMost()
      const program = await work()
      // Backends report what they did when they end, or a moment later.
      await new Promise((resolve) => setTimeout(resolve, 1500))
      const server = {
        cpuMs: familyCpuMs(pid) - cpuMs,
        walBytes: Number(await first(`pg_wal_lsn_diff(pg_current_wal_lsn(), '${lsn}')`)),
        transactions: (await transactions()) - before,
        networkBytes: counted.bytes() - bytes,
        mostConnections: counted.most(),
      }
      return { program, server }
    },
    async storage() {
      const { rows } = await client.query<{ name: string; bytes: string }>(
        `SELECT relname AS name, pg_total_relation_size(oid) AS bytes FROM pg_class
         WHERE relkind = 'r' AND relnamespace = '${SCHEMA}'::regnamespace`,
      )
      return Object.fromEntries(rows.map(({ name, bytes: size }) => [name, Number(size)]))
    },
    async close() {
      counted.close()
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
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    const at = (place: number) => fields[place] ?? 0
    return { parent: at(1), own: at(11) + at(12), children: at(13) + at(14) }
  } catch {
    return { parent: 0, own: 0, children: 0 }
  }
}

/** Passes bytes on to the server, and counts them. */
async function countingProxy(server: URL) {
  let [bytes, open, most] = [0, 0, 0]
  const proxy = createServer((near) => {
    const far = connect(Number(server.port || 5432), server.hostname)
    open += 1
    most = Math.max(most, open)
    near.once('close', () => (open -= 1))
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
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
  return {
    address: address.href,
    bytes: () => bytes,
    most: () => most,
    forgetMost: () => (most = open),
    close: () => proxy.close(),
  }
}
