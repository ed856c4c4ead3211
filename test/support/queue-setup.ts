import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { stderr } from 'node:process'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { z } from 'zod'
import { openEmbedded } from '../../jobs/queue/embedded.ts'
import { openKeptPglite } from './postgres/kept-pglite.ts'
import { chosenQueue } from './queue-choice.ts'
import { startRedis } from './redis-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The queue the tests run on: an address, or `embedded`. */
    queueAddress: string
    /** A folder with an embedded queue that was never used, to copy. */
    queueTemplate: string
  }
}

/** Finds or starts the queue for the tests, and says which it is. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const chosen = chosenQueue()
  const own = chosen === 'own' ? await startRedis() : undefined
  const address = own?.url ?? chosen
  provide('queueAddress', address)
  provide('queueTemplate', await queueTemplate())
  stderr.write(`The jobs are tested on ${describe(address, own !== undefined)}.\n`)
  return async () => {
    await own?.close()
  }
}

function describe(address: string, isOwn: boolean): string {
  if (address === 'embedded') return 'the embedded queue'
  const { protocol, host } = new URL(address)
  return `${isOwn ? 'a Redis of their own' : 'the queue'} at ${protocol}//${host}`
}

const ROOT = new URL('../../', import.meta.url)

/**
 * A folder with an embedded queue that was never used, to copy. To make one takes four seconds of a processor, so it is kept for
 * the next run of the tests, one for each pair of versions of what makes it.
 */
export async function queueTemplate(): Promise<string> {
  const { bullmq, [POSTGRES]: postgres } = z
    .object({ dependencies: z.object({ bullmq: z.string(), [POSTGRES]: z.string() }) })
    .parse(JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'))).dependencies
  const kept = fileURLToPath(new URL(`node_modules/.cache/customer-mirror-tests/queue-${bullmq}-${postgres}`, ROOT))
  if (existsSync(kept)) return kept
  const made = `${kept}-${randomUUID()}`
  // The mirrors of tests need a PGlite that was just made too.
  mkdirSync(made, { recursive: true, mode: 0o700 })
  await openKeptPglite(join(made, 'postgres')).then((database) => database.close())
  await openEmbedded(made, 'customer-mirror').then((store) => store.close())
  try {
    renameSync(made, kept)
  } catch {
    // Another run of the tests was first.
    rmSync(made, { recursive: true })
  }
  return kept
}

const POSTGRES = '@electric-sql/pglite'
