import { MirrorUnusable } from '../../errors/errors.ts'
import { READ_TO_END } from '../schema/views.ts'
import { READING_INDEXES } from '../schema/schema.ts'
import type { Database, Session } from '../port/postgres-session.ts'

/**
 * Returns a function, to be called when a run is complete, that creates the indexes of readers once an organization was read to its end.
 * From sorted keys an index is built in a fraction of the time that it costs row by row. Other runs that write wait meanwhile, so
 * they are built while the mirror is small, and not when the last of many organizations is loaded.
 */
export function readingIndexes(database: Database): () => Promise<void> {
  let areTried = false
  return async () => {
    if (areTried) return
    try {
      const state = await database.read(stateOfIndexes)
      areTried = state === 'there' || (state === 'due' && (await database.write(createReadingIndexes)))
    } catch (error) {
      // The run is complete without the indexes, and the next one tries again.
      if (!(error instanceof MirrorUnusable)) throw error
    }
  }
}

/** Creates the indexes of readers, except for a text that is too long for one; false if another process is about to: two would collide. */
async function createReadingIndexes(session: Session): Promise<boolean> {
  const lock = await session.first<{ taken: boolean }>(
    "SELECT pg_try_advisory_xact_lock(hashtext('customer-mirror reading indexes'), hashtext(current_schema())) AS taken",
  )
  if (lock?.taken !== true) return false
  await session.run('SET LOCAL statement_timeout = 0')
  for (const [name, columns] of Object.entries(READING_INDEXES)) {
    // In PL/pgSQL, which goes on after an error.
    await session.run(`DO $do$ BEGIN
      CREATE INDEX IF NOT EXISTS ${name} ON ${columns};
    EXCEPTION WHEN program_limit_exceeded THEN NULL;
    END $do$`)
  }
  return true
}

/** Drops the indexes that cannot hold every text, so that it can be stored; false if there are none. */
export async function dropTextIndexes(database: Database): Promise<boolean> {
  const names = Object.keys(READING_INDEXES).filter((name) => name !== 'customers_by_update')
  return await database.write(async (session) => {
    const found = await countThere(session, names)
    await session.run(`DROP INDEX IF EXISTS ${names.join(', ')}`)
    return found > 0
  })
}

/** `due`: an organization was read to its end, and not all of them are there. */
async function stateOfIndexes(session: Session): Promise<'there' | 'due' | 'too early'> {
  const names = Object.keys(READING_INDEXES)
  if ((await countThere(session, names)) === names.length) return 'there'
  return (await session.first(`SELECT FROM runs WHERE ${READ_TO_END} LIMIT 1`)) === undefined ? 'too early' : 'due'
}

async function countThere(session: Session, names: readonly string[]): Promise<number> {
  const found = await session.first<{ count: number }>(
    'SELECT count(*) FROM unnest($1::text[]) AS name WHERE to_regclass(quote_ident(name)) IS NOT NULL',
    names,
  )
  return found?.count ?? 0
}
