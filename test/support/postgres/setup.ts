import { availableParallelism } from 'node:os'
import { stderr } from 'node:process'
import type { TestProject } from 'vitest/node'
import { onPostgres } from '../mirror-choice.ts'
import { postgresPrograms } from '../../../bench/postgres-server.ts'
import { startTestServer } from './server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A database for the mirrors of each process of the tests; none where each has a PGlite of its own. */
    postgresAddresses: string[]
  }
}

/** As many as `maxWorkers` in vitest.config.ts. */
const MOST_PROCESSES = availableParallelism() + 1

/** Starts the server for the mirrors, where the tests are to run on PostgreSQL and there is one. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const server = onPostgres && postgresPrograms() !== undefined ? await startTestServer() : undefined
  // An old snapshot of one process would keep the others from freeing rows, if they shared a database.
  const names = Array.from({ length: MOST_PROCESSES }, (_, index) => `mirrors_${index + 1}`)
  const addresses: string[] = []
  for (const name of server === undefined ? [] : names) addresses.push((await server?.another(name)) ?? '')
  provide('postgresAddresses', addresses)
  if (onPostgres)
    stderr.write(`The mirrors are tested in ${server === undefined ? 'PGlite' : `PostgreSQL at ${server.url}`}.\n`)
  return async () => {
    await server?.close()
  }
}
