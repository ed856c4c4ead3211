import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { openEmbedded } from '../../jobs/queue/embedded.ts'
import { openKeptPglite } from './postgres/kept-pglite.ts'

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
