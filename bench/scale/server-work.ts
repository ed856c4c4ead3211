import { readdirSync, readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { once } from 'node:events'
import { Client } from 'pg'
import { UsageError } from '../../src/errors/errors.ts'
import type { ServerWork, Storage } from './figures.ts'

/** A PostgreSQL server of this machine, whose work is measured. */
export type MeasuredServer = {
  /** The address of its database through which all bytes are counted. */
  address: string
  version: string
  measure<Result>(work: () => Promise<Result>): Promise<{ program: Result; server: ServerWork }>
  storage(): Promise<Storage>
  close(): Promise<void>
}

const SCHEMA = 'customer_mirror'

/**
 * `address` is that of an empty database, for a superuser: the number of the server's process is in a file of the server. Throws a
 * UsageError if a mirror is there: then nothing would be an initial sync.
 */
export async function measuredServer(address: string): Promise<MeasuredServer> {
  const client = new Client({ connectionString: address })
  await client.connect()
  const first = async (sql: string): Promise<string> => {
    const { rows } = await client.query<{ value: unknown }>(`SELECT (${sql})::text AS value`)
    return String(rows[0]?.value)
  }
  if ((await first(`to_regnamespace('${SCHEMA}') IS NULL`)) !== 'true') {
    await client.end()
    throw new UsageError(`The database of --postgres must be empty, and holds a schema ${SCHEMA}. Name another one.`)
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
