import { onTestFinished } from 'vitest'
import { oneStatement } from '../../../bench/postgres-server.ts'
import { startQuickPostgres } from './quick-server.ts'

/** The address of a database on a server of its own, in which the small form of I is another letter than i. */
export async function aTurkishDatabase(): Promise<string> {
  const server = await startQuickPostgres()
  onTestFinished(() => server.close())
  await oneStatement(server.url, `CREATE DATABASE turkish TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR'`)
  return Object.assign(new URL(server.url), { pathname: '/turkish' }).href
}
