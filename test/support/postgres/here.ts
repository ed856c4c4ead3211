import { randomUUID } from 'node:crypto'
import { env } from 'node:process'
import { Worker } from 'node:worker_threads'
import { inject, onTestFinished } from 'vitest'
import { statementsOn } from './statement.ts'

let database: string | undefined

/** The address of a mirror in PostgreSQL that does not exist yet. Its schema is dropped when the test ends. */
export function aPostgresMirror(): string {
  database ??= addressOfThisProcess() ?? startPglite()
  const schema = `mirror_${randomUUID().replaceAll('-', '')}`
  const address = `${database}?schema=${schema}`
  onTestFinished(() => {
    statementsOn(address, { isWriting: true }).run(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
  })
  return address
}

function addressOfThisProcess(): string | undefined {
  return inject('postgresAddresses')[Number(env['VITEST_POOL_ID'] ?? 1) - 1]
}

/** Starts a PGlite for this process, and returns the address of its database. */
function startPglite(): string {
  const state = new SharedArrayBuffer(4)
  const thread = new Worker(new URL('pglite-thread.ts', import.meta.url), { workerData: { state } })
  thread.unref()
  const port = new Int32Array(state)
  if (Atomics.wait(port, 0, 0, 120_000) === 'timed-out') throw new Error('PGlite did not start')
  return `postgres://mirror@127.0.0.1:${Atomics.load(port, 0)}/postgres`
}
