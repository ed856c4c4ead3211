import { randomUUID } from 'node:crypto'
import { env } from 'node:process'
import { inject, onTestFinished } from 'vitest'
import { statementsOn } from './statement.ts'

/** The address of a mirror in PostgreSQL that does not exist yet. Its schema is dropped when the test ends. */
export function aPostgresMirror(): string {
  const database = inject('postgresAddresses')[Number(env['VITEST_POOL_ID'] ?? 1) - 1]
  if (database === undefined) throw new Error('There is no PostgreSQL here, which this test needs. Install it.')
  const schema = `mirror_${randomUUID().replaceAll('-', '')}`
  const address = `${database}?schema=${schema}`
  onTestFinished(() => {
    statementsOn(address, { isWriting: true }).run(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
  })
  return address
}
