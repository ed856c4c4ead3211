import { setImmediate as nextTurn } from 'node:timers/promises'
import { MirrorUnusable } from '../errors/errors.ts'
import { either, sql, text } from './port/sql.ts'
import type { Session, Store } from './port/store.ts'
import { READING_INDEXES } from './schema/schema.ts'
import { READ_TO_END } from './schema/views.ts'

/**
 * Returns what creates the indexes of readers once an organization was read to its end: from sorted keys, in a fraction of the time that it takes
 * row by row. Other runs that write wait meanwhile, so it is done while the mirror is small, and not after the last of many organizations.
 */
export function indexingForReaders(store: Store): () => Promise<void> {
  let areTried = false
  return async () => {
    if (areTried) return
    try {
      areTried = await createReadingIndexes(store)
    } catch (error) {
      // The run is complete without the indexes, and the next one tries again.
      if (!(error instanceof MirrorUnusable)) throw error
    }
  }
}

/** Creates those that are missing, each in a transaction; false while no organization was read to its end. */
export async function createReadingIndexes(store: Store): Promise<boolean> {
  const missing = await store.read(async (session) => {
    const isRead = await session.first(sql`SELECT 1 FROM runs WHERE ${text(READ_TO_END)} LIMIT 1`)
    return isRead === undefined ? undefined : await missingIndexes(session)
  })
  for (const index of missing ?? []) {
    await store.write((session) => create(session, index), { sorting: true })
    // Other runs and health checks have a turn.
    await nextTurn()
  }
  return missing !== undefined
}

async function missingIndexes(session: Session): Promise<[name: string, on: string][]> {
  const held = await session.all<{ name: string }>(sql`
    SELECT ${either(`name FROM sqlite_schema`, `indexname AS name FROM pg_indexes WHERE schemaname = current_schema()`)}`)
  const names = new Set(held.map(({ name }) => name))
  return Object.entries(READING_INDEXES).filter(([name]) => !names.has(name))
}

async function create(session: Session, [name, on]: [string, string]) {
  const words = `CREATE INDEX IF NOT EXISTS ${name} ON ${on}`
  if (session.kind === 'sqlite') return session.run(text(words))
  await session.run(sql`SET LOCAL statement_timeout = 0`)
  // Two processes that create one at the same moment would collide.
  await session.first(
    sql`SELECT pg_advisory_xact_lock(hashtext('customer-mirror reading indexes'), hashtext(current_schema()))`,
  )
  // A text may be too long for it. In PL/pgSQL, which goes on after an error.
  return session.run(text(`DO $do$ BEGIN ${words}; EXCEPTION WHEN program_limit_exceeded THEN NULL; END $do$`))
}

/** Drops the indexes in which not every text has room on a server, so that it can be stored. */
export async function dropTextIndexes(session: Session): Promise<void> {
  await session.run(sql`DROP INDEX IF EXISTS customers_by_email, customers_by_language`)
}
