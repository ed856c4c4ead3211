import { PGlite } from '@electric-sql/pglite'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * A PGlite in memory as it was just made. To make one takes four seconds of a processor, so its bytes are kept in a file for the next
 * one.
 */
export async function openKeptPglite(kept: string): Promise<PGlite> {
  if (existsSync(kept)) return PGlite.create({ loadDataDir: new Blob([readFileSync(kept)]) })
  const made = await PGlite.create()
  const bytes = Buffer.from(await (await made.dumpDataDir('none')).arrayBuffer())
  mkdirSync(dirname(kept), { recursive: true })
  const own = `${kept}-${randomUUID()}`
  writeFileSync(own, bytes)
  renameSync(own, kept)
  return made
}
