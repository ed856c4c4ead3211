import { once } from 'node:events'
import { chownSync, mkdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { getuid, stderr } from 'node:process'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { PLAIN_USER, postgresPrograms } from '../../bench/postgres-server.ts'
import { startRedis } from '../../bench/redis-server.ts'
import { onPostgres } from './mirror-choice.ts'
import { startTestServer } from './postgres/server.ts'
import { startMakingQueue } from './small-queue.ts'
import { chosenQueue } from './test-run.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The queue the tests run on: an address, or `embedded`. */
    queueAddress: string
    /** A folder with an embedded queue that was never used, to copy. */
    queueTemplate: string
    /** A database of a server for the mirrors of each process of the tests; none where no test has its mirror there. */
    postgresAddresses: string[]
    /** The folder in which the program keeps what was compiled when a user who may not write in the checkout runs it. */
    compiledForPlainUser: string
  }
}

const CACHE = new URL('../../node_modules/.cache/', import.meta.url)

/** Finds or starts the servers of the tests, and says which they are. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const provide = project.provide.bind(project)
  const chosen = chosenQueue()
  const redis = chosen === 'own' ? await startRedis() : undefined
  const address = redis?.url ?? chosen
  provide('queueAddress', address)
  const isQueueWanted = project.config.provide.isDeep || address === 'embedded'
  const { path: template, maker } = startMakingQueue({ isWanted: isQueueWanted })
  provide('queueTemplate', template)
  stderr.write(`The jobs are tested on ${describe(address, redis !== undefined)}.\n`)
  const isWanted = onPostgres || (project.config.provide.isDeep && postgresPrograms() !== undefined)
  const postgres = isWanted ? await startTestServer() : undefined
  provide('postgresAddresses', postgres === undefined ? [] : await addressesOn(postgres))
  if (onPostgres) stderr.write(`The mirrors are tested in PostgreSQL at ${postgres?.url}.\n`)
  provide('compiledForPlainUser', folderOfPlainUser())
  return async () => {
    if (maker?.exitCode === null) await once(maker, 'exit')
    await redis?.close()
    await postgres?.close()
  }
}

function describe(address: string, isOwn: boolean): string {
  if (address === 'embedded') return 'the embedded queue'
  const { protocol, host } = new URL(address)
  return `${isOwn ? 'a Redis of their own' : 'the queue'} at ${protocol}//${host}`
}

/** A database for each process, as many as `maxWorkers` in vitest.config.ts: an old snapshot of one would keep the others from freeing rows. */
async function addressesOn(postgres: Awaited<ReturnType<typeof startTestServer>>): Promise<string[]> {
  const addresses: string[] = []
  for (let n = 1; n <= availableParallelism() + 1; n += 1) addresses.push(await postgres.another(`mirrors_${n}`))
  return addresses
}

/** Kept for the next run of the tests: without it each start of such a user takes three times as long. */
function folderOfPlainUser(): string {
  const folder = fileURLToPath(new URL('customer-mirror-plain-user', CACHE))
  mkdirSync(folder, { recursive: true })
  if (getuid?.() === 0) chownSync(folder, PLAIN_USER, PLAIN_USER)
  return folder
}
