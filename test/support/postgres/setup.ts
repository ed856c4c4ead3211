import { stderr } from 'node:process'
import type { TestProject } from 'vitest/node'
import { onPostgres } from '../mirror-choice.ts'
import { postgresPrograms, startPostgres } from './server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A database for the mirrors of the tests; empty where each process of the tests has a PGlite of its own. */
    postgresAddress: string
  }
}

/** Starts the server for the mirrors, where the tests are to run on PostgreSQL and there is one. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const server = onPostgres && postgresPrograms() !== undefined ? await startPostgres() : undefined
  provide('postgresAddress', server?.url ?? '')
  if (onPostgres)
    stderr.write(`The mirrors are tested in ${server === undefined ? 'PGlite' : `PostgreSQL at ${server.url}`}.\n`)
  return async () => {
    await server?.close()
  }
}
