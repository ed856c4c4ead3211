import { PGlite } from '@electric-sql/pglite'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { z } from 'zod'

/** The file with the bytes of a new one, by the version of the package. */
function keptPglite(): string {
  const versions = z.object({ dependencies: z.object({ '@electric-sql/pglite': z.string() }) })
  const { dependencies } = versions.parse(JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')))
  return fileURLToPath(
    new URL(`node_modules/.cache/customer-mirror-tests/pglite-${dependencies['@electric-sql/pglite']}.tar`, ROOT),
  )
}

const ROOT = new URL('../../../', import.meta.url)

/**
 * A PGlite as it was just made, in memory or in a folder. To make one takes four seconds of a processor, so its bytes are kept in a file
 * for the next one.
 */
export async function openKeptPglite(folder?: string): Promise<PGlite> {
  const kept = keptPglite()
  if (!existsSync(kept)) await keep(kept)
  const place = folder === undefined ? {} : { dataDir: folder }
  return PGlite.create({ ...place, loadDataDir: new Blob([readFileSync(kept)]) })
}

async function keep(kept: string): Promise<void> {
  // As in vitest.config.ts: to optimize what runs once takes a second.
  setFlagsFromString('--liftoff-only')
  const made = await PGlite.create()
  const bytes = Buffer.from(await (await made.dumpDataDir('none')).arrayBuffer())
  await made.close()
  mkdirSync(dirname(kept), { recursive: true })
  const own = `${kept}-${randomUUID()}`
  writeFileSync(own, bytes)
  renameSync(own, kept)
}
