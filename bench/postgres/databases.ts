import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import * as z from 'zod'
import { oneStatement, startPostgres, type PostgresServer } from '../postgres-server.ts'

/** Databases of a PostgreSQL server that the benchmark starts when it needs one first. */
export type Databases = {
  /** Makes an empty database, and returns its address. */
  make(name: string): Promise<string>
  /** As a copy of another, which nothing is connected to; written to the disk before it returns. */
  copy(from: string, name: string): Promise<string>
  /** What a server does by itself in the hours between two nights. */
  rest(name: string): Promise<void>
  /** The same address, over a connection that takes so long in each direction. */
  away(address: string, delayMs: number): Promise<string>
  close(): Promise<void>
}

type Proxy = { port: number; close: () => Promise<void> }

/** The server has the settings that PostgreSQL has from the start, and its files in a temporary folder. */
export function createDatabases(): Databases {
  let starting: Promise<PostgresServer> | undefined
  const proxies = new Map<number, Promise<Proxy>>()
  const server = () => (starting ??= startPostgres())

  async function makeFrom(template: string, name: string): Promise<string> {
    const { url } = await server()
    await oneStatement(url, `DROP DATABASE IF EXISTS ${name}`)
    await oneStatement(url, `CREATE DATABASE ${name} TEMPLATE ${template}`)
    // The first connection to a database makes a file of what all later ones read.
    await oneStatement(addressOf(url, name), 'CHECKPOINT')
    return addressOf(url, name)
  }

  return {
    make: (name) => makeFrom('template1', name),
    copy: makeFrom,
    rest: async (name) => await oneStatement(addressOf((await server()).url, name), 'VACUUM ANALYZE'),
    async away(address, delayMs) {
      const port = Number(new URL(address).port)
      const proxy = proxies.get(delayMs) ?? startProxy(port, delayMs)
      proxies.set(delayMs, proxy)
      return withPort(address, (await proxy).port)
    },
    async close() {
      for (const proxy of proxies.values()) await (await proxy).close()
      proxies.clear()
      await (await starting)?.close()
      starting = undefined
    },
  }
}

function addressOf(url: string, name: string): string {
  return new URL(name, url).href
}

function withPort(address: string, port: number): string {
  const url = new URL(address)
  url.port = String(port)
  return url.href
}

async function startProxy(port: number, delayMs: number): Promise<Proxy> {
  const program = fileURLToPath(new URL('delaying-proxy.ts', import.meta.url))
  const task = JSON.stringify({ port, delayMs })
  const child = spawn(process.execPath, [program, task], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  const firstLine = once(createInterface({ input: child.stdout }), 'line')
  const [line] = await Promise.race([firstLine, ended.then(() => [''])])
  const started = z.object({ port: z.number() }).parse(JSON.parse(String(line)))
  return {
    port: started.port,
    close: async () => {
      child.stdin.end()
      await ended
    },
  }
}
