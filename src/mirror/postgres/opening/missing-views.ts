import { readFileSync } from 'node:fs'
import type { Session } from '../session.ts'
import { MIGRATIONS } from './versions.ts'

/** Views of the mirror that are not there, and whether this user can make them. */
export async function missingViews(session: Pick<Session, 'all'>): Promise<{ name: string; can_make: boolean }[]> {
  return session.all(
    `SELECT name, has_schema_privilege(current_schema(), 'CREATE') AS can_make
     FROM unnest(ARRAY['active_customers', 'customers_daily', 'customers_history', 'freshness']) AS name
     WHERE to_regclass(name) IS NULL`,
  )
}

/** Makes the views that are not there, as the last migration that names them does. */
export async function makeMissingViews(session: Pick<Session, 'all' | 'run'>): Promise<void> {
  const missing = await missingViews(session)
  if (missing.length === 0) return
  const migrations = MIGRATIONS.map((name) => readFileSync(new URL(`../migrations/${name}`, import.meta.url), 'utf8'))
  const definitions = new Map(
    [...migrations.join('\n').matchAll(/^CREATE VIEW (\w+) AS\n[^]*?;$/gm)].map(([sql, name = '']) => [name, sql]),
  )
  for (const { name, can_make } of missing) if (can_make) await session.run(definitions.get(name) ?? '')
}
