import { EventEmitter } from 'node:events'
import { chmod, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { messages, PGlite } from '@electric-sql/pglite'
import { type PgQueryable, runMigrations } from 'bullmq'
import pLimit from 'p-limit'
import { QueueUnavailable } from '../../src/errors/errors.ts'
import { systemCode } from '../../src/errors/faults.ts'
import { makeFolder } from '../../src/machine/folders.ts'
import { lockPlace } from '../../src/copies/written-file.ts'
import type { Store } from './port.ts'
import { factoryIn, postgresValues, SCHEMA } from './postgres.ts'

/** The queue in this process, in a folder that one process has at a time. `onEnded`: its database has ended, as on a full disk. */
export async function openEmbedded(folder: string, prefix: string, onEnded?: (error: unknown) => void): Promise<Store> {
  const unusable = (error: unknown) => {
    const code = systemCode(error)
    return new QueueUnavailable(
      `The embedded queue in ${folder} cannot be used${code === undefined ? '' : ` (${code})`}. Check that its disk has room and works, that ` +
        'this user may use the folder (chown -R), and that a process may have enough files open (ulimit -n), then start again. If that ' +
        'changes nothing, move that folder away: it contains only waiting jobs and pauses.',
      { cause: error },
    )
  }
  let release = () => {}
  try {
    makeFolder(folder)
    await chmod(folder, 0o700)
    const busy = () =>
      new QueueUnavailable(
        `The embedded queue in ${folder} is in use by another process, and it serves only one. Stop that process, or name a ` +
          'redis:// or postgres:// address as queue to run several.',
      )
    release = lockPlace(join(folder, 'lock'), { waitMs: 0, busy }).release
    const database = await openDatabase(join(folder, 'postgres'))
    const pool = embeddedPool(database, (error) => onEnded?.(unusable(error)))
    await runMigrations(pool)
    const close = () => pool.end().then(release)
    return { values: postgresValues(pool, prefix), loadFactory: () => factoryIn(pool), close }
  } catch (error) {
    release()
    throw error instanceof QueueUnavailable ? error : unusable(error)
  }
}

/** A queue has few rows: without the usual 128 MB for pages in memory it opens in two thirds of the time. */
const SMALL = [...PGlite.defaultStartParams, '-c', 'shared_buffers=8MB']

async function openDatabase(place: string): Promise<PGlite> {
  // PostgreSQL starts beside no lock file that is empty, as a process leaves it that is killed at that moment. Ours is the lock that counts.
  await rm(join(place, 'postmaster.pid'), { force: true })
  const database = await PGlite.create(place, { startParams: SMALL })
  await makePrivate(place)
  await database.exec(`SET search_path TO ${SCHEMA}`)
  return database
}

/** PGlite begins with files that every user may read, whatever the umask is. The mode of one is set last: it shows that all are private. */
async function makePrivate(place: string): Promise<void> {
  const last = join(place, 'PG_VERSION')
  if (((await stat(last)).mode & 0o077) === 0) return
  await chmod(place, 0o700)
  for (const found of await readdir(place, { recursive: true, withFileTypes: true })) {
    const path = join(found.parentPath, found.name)
    if (path !== last) await chmod(path, found.isDirectory() ? 0o700 : 0o600)
  }
  await chmod(last, 0o600)
}

/** Queries in one turn of the event loop; each takes half a millisecond. With a thousand organizations a thousand come together. */
const IN_TURN = 50

/**
 * PostgreSQL in this process, as the pool that the queue expects: one session, so no transaction stays open. Once it has ended, a query would hang.
 */
export function embeddedPool(database: PGlite, onEnded: (error: unknown) => void) {
  const oneAfterAnother = pLimit(1)
  let asked = 0
  let ended: { error: unknown } | undefined

  // A query blocks this thread, and the database begins the next one at once: timers, sockets and signals would wait for all of them.
  const query: PgQueryable['query'] = (text, parameters) =>
    oneAfterAnother(async () => {
      asked += 1
      if (asked % IN_TURN === 0) await nextTurn()
      if (ended !== undefined) throw ended.error
      try {
        return await answer(database, text, parameters)
      } catch (error) {
        if (isOver(error)) {
          ended = { error }
          onEnded(error)
        }
        throw error
      }
    })
  return Object.assign(new EventEmitter(), {
    query,
    /** A client of the pool, which hears what every other one does. */
    async connect() {
      const client = Object.assign(new EventEmitter(), { query, release: () => {} })
      const tell = (channel: string, payload: string) => void client.emit('notification', { channel, payload })
      client.release = database.onNotification(tell)
      return client
    },
    end: async () => (ended === undefined ? database.close() : undefined),
  })
}

/** Whether PostgreSQL has ended with this error, or misses a file: PGlite knows its name and not that it could not be made on a full disk. */
function isOver(error: unknown): boolean {
  if (!(error instanceof messages.DatabaseError)) return false
  return ['PANIC', 'FATAL'].includes(error.severity ?? '') || ['58P01', '58P02'].includes(error.code ?? '')
}

async function answer<Row>(database: PGlite, text: string, parameters?: readonly unknown[]) {
  // Only the simple protocol takes several statements at once. The rows of such a script are not used.
  if (parameters === undefined && text.trimEnd().replace(/;$/, '').includes(';')) {
    await database.exec(text)
    return { rows: [] }
  }
  return database.query<Row>(text, [...(parameters ?? [])])
}
