import { VIEWS, viewsMadeBy } from '../../sql/views.ts'
import type { Session } from '../session.ts'
import { migration, MIGRATIONS } from './versions.ts'

/** Views of the mirror that are not there, and whether this user can make them. */
export async function missingViews(session: Pick<Session, 'all'>): Promise<{ name: string; can_make: boolean }[]> {
  return session.all(
    `SELECT name, has_schema_privilege(current_schema(), 'CREATE') AS can_make
     FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NULL`,
    VIEWS,
  )
}

/** Makes the views that are not there, as the last migration that names them does. */
export async function makeMissingViews(session: Pick<Session, 'all' | 'run'>): Promise<void> {
  const missing = await missingViews(session)
  if (missing.length === 0) return
  const made = viewsMadeBy(MIGRATIONS.map(migration).join('\n'))
  for (const { name, can_make } of missing) if (can_make) await session.run(made.get(name) ?? '')
}
