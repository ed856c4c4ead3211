import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { inject, onTestFinished } from 'vitest'
import { z } from 'zod'
import { statementsOn } from './statement.ts'

const ROOT = new URL('../../../', import.meta.url)

let database: string | undefined

/** The address of a mirror in PostgreSQL that does not exist yet. Its schema is dropped when the test ends. */
export function aPostgresMirror(): string {
  database ??= inject('postgresAddress') || startPglite()
  const schema = `mirror_${randomUUID().replaceAll('-', '')}`
  const address = `${database}?schema=${schema}`
  onTestFinished(() => {
    statementsOn(address, { isWriting: true }).run(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
  })
  return address
}

/** Starts a PGlite for this process, and returns the address of its database. */
function startPglite(): string {
  const versions = z.object({ dependencies: z.object({ '@electric-sql/pglite': z.string() }) })
  const { dependencies } = versions.parse(JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')))
  const kept = fileURLToPath(
    new URL(`node_modules/.cache/customer-mirror-tests/pglite-${dependencies['@electric-sql/pglite']}.tar`, ROOT),
  )
  const state = new SharedArrayBuffer(4)
  const thread = new Worker(new URL('pglite-thread.ts', import.meta.url), { workerData: { kept, state } })
  thread.unref()
  const port = new Int32Array(state)
  if (Atomics.wait(port, 0, 0, 120_000) === 'timed-out') throw new Error('PGlite did not start')
  return `postgres://mirror@127.0.0.1:${Atomics.load(port, 0)}/postgres`
}
