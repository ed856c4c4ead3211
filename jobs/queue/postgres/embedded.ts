import { chmod, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { DEFAULT_SCHEMA, runMigrations } from 'bullmq'
import { systemCode } from '../../../src/errors/faults.ts'
import { QueueUnavailable } from '../../../src/errors/errors.ts'
import { makeFolder } from '../../../src/machine/make-folder.ts'
import type { Store } from '../backend.ts'
import { EmbeddedPool } from './embedded-pool.ts'
import { lockFolder, type FolderLock } from './folder-lock.ts'
import { postgresFactory } from './postgres-factory.ts'
import { postgresProbes } from './postgres-probes.ts'
import { postgresValues } from './postgres-values.ts'

/** The queue in this process, stored in a folder. Throws QueueUnavailable when another process uses that folder. */
export async function openEmbedded(folder: string, prefix: string): Promise<Store> {
  const lock = await takeFolder(folder)
  try {
    const pool = new EmbeddedPool(() => openDatabase(join(folder, 'postgres')))
    await runMigrations(pool.session())
    let closed: Promise<void> | undefined
    const close = async () => {
      await pool.close()
      await lock.release()
    }
    return {
      factory: postgresFactory(pool),
      ...postgresProbes(pool, prefix),
      values: postgresValues(pool, prefix),
      limits: undefined,
      close: () => (closed ??= close()),
    }
  } catch (error) {
    await lock.release()
    if (error instanceof QueueUnavailable) throw error
    throw new QueueUnavailable(
      `The embedded queue in ${folder} cannot be opened. Check that its disk has room and works, and that a process may have enough ` +
        'files open (ulimit -n), then start again. If that changes nothing, move that folder away: it contains only the schedules, ' +
        'which are created again from the configuration, waiting jobs and pauses.',
      { cause: error },
    )
  }
}

async function openDatabase(place: string): Promise<PGlite> {
  // PostgreSQL starts beside no lock file that is empty, as a process leaves it that is killed at that moment. Ours is the lock that counts.
  await rm(join(place, 'postmaster.pid'), { force: true })
  const database = await PGlite.create(place)
  await makePrivate(place)
  await database.exec(`SET search_path TO ${DEFAULT_SCHEMA}`)
  return database
}

/**
 * The files that PGlite begins with may be read and written by every user. Once they are private, PostgreSQL makes others so. The mode of
 * the folder is set last: it shows that all files in it are.
 */
async function makePrivate(place: string): Promise<void> {
  if (((await stat(place)).mode & 0o077) === 0) return
  for (const found of await readdir(place, { recursive: true, withFileTypes: true }))
    await chmod(join(found.parentPath, found.name), found.isDirectory() ? 0o700 : 0o600)
  await chmod(place, 0o700)
}

/** Makes the folder, and takes it for this process. Throws QueueUnavailable where another process or the system does not allow it. */
async function takeFolder(folder: string): Promise<FolderLock> {
  try {
    makeFolder(folder)
    await chmod(folder, 0o700)
    return await lockFolder(folder)
  } catch (error) {
    const code = systemCode(error)
    if (code === undefined) throw error
    const isForbidden = code === 'EACCES' || code === 'EPERM'
    const fix = isForbidden
      ? 'It belongs to another user, or lies in a folder of one: start the worker as that user, or give the folder to this one (chown -R).'
      : 'Repair what the system names, or move that folder away.'
    throw new QueueUnavailable(`The folder of the embedded queue, ${folder}, cannot be used (${code}). ${fix}`, {
      cause: error,
    })
  }
}
