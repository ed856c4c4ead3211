import * as z from 'zod'
import { oneStatement, startPostgres, type PostgresServer } from './postgres-server.ts'
import { startHelper } from './service.ts'

/** Where programs keep what they write: in files, or in databases of a server. */
export type Places = {
  /** An empty place; returns its address. */
  make(name: string): Promise<string>
  /** A copy of a place that was made and that no program uses, on the disk before it returns. */
  copy(from: string, name: string): Promise<string>
  /** What happens to a place between two nights. */
  rest(name: string): Promise<void>
  forget(name: string): Promise<void>
}

/**
 * Databases of a PostgreSQL server with the settings that it has from the start; it is started when the first is needed, and ends with
 * them. `away` is the same address over a connection that takes so long in each direction.
 */
export function createDatabases() {
  let starting: Promise<PostgresServer> | undefined
  const proxies = new Map<number, ReturnType<typeof startHelper>>()
  const addressOf = async (name: string) => new URL(name, (await (starting ??= startPostgres())).url).href

  async function copy(template: string, name: string): Promise<string> {
    const [server, address] = [await addressOf('postgres'), await addressOf(name)]
    await oneStatement(server, `DROP DATABASE IF EXISTS ${name}`)
    await oneStatement(server, `CREATE DATABASE ${name} TEMPLATE ${template}`)
    // The first connection to a database makes a file of what all later ones read.
    await oneStatement(address, 'CHECKPOINT')
    return address
  }

  return {
    make: (name: string) => copy('template1', name),
    copy,
    rest: async (name: string) => oneStatement(await addressOf(name), 'VACUUM ANALYZE'),
    forget: async () => {},
    async away(address: string, delayMs: number) {
      const url = new URL(address)
      const proxy = proxies.get(delayMs) ?? startHelper(PROXY, { port: Number(url.port), delayMs })
      proxies.set(delayMs, proxy)
      url.port = String(z.object({ port: z.number() }).parse((await proxy).line).port)
      return url.href
    },
    async close() {
      for (const proxy of proxies.values()) await (await proxy).end()
      proxies.clear()
      await (await starting)?.close()
      starting = undefined
    },
  }
}

const PROXY = new URL('delaying-proxy.ts', import.meta.url)
