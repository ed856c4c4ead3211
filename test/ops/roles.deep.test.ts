import { expect, test } from 'vitest'
import { text } from '../../src/store/port/sql.ts'
import { openDatabase } from '../../src/store/postgres/open-database.ts'
import { opsFile } from '../support/metrics.ts'
import { pgliteConnections } from '../support/pglite-connections.ts'
import { openKeptPglite } from '../support/postgres/kept-pglite.ts'

test('the mirror is made by its own role, and read but not written by that of analysts', async () => {
  const server = await openKeptPglite()
  await server.exec(`${opsFile('postgres/roles.sql')} CREATE ROLE stranger;`)
  await server.exec('SET SESSION AUTHORIZATION mirror')
  const open = (access: 'read' | 'write') =>
    openDatabase('postgres://db.test/crm', access, { connect: () => pgliteConnections(server) })
  await open('write')
  await server.exec('REVOKE SELECT ON customer_mirror.fingerprint_key FROM analyst')
  await server.exec('RESET SESSION AUTHORIZATION; SET SESSION AUTHORIZATION stranger')
  await expect(open('read')).rejects.toMatchObject({ message: expect.stringContaining('may not use the schema') })
  await server.exec('RESET SESSION AUTHORIZATION; SET SESSION AUTHORIZATION analyst')

  const settings = await server.query(`SELECT unnest(rolconfig) AS setting FROM pg_roles WHERE rolname = 'analyst'`)
  expect(settings.rows).toEqual([{ setting: 'search_path=customer_mirror' }, { setting: 'TimeZone=UTC' }])
  const reader = await open('read')
  const { rows } = await server.query('SELECT count(*)::int AS count FROM customer_mirror.freshness')
  expect(rows).toEqual([{ count: 0 }])
  const numbers =
    await server.query(`SELECT has_sequence_privilege(name, 'SELECT') AS shown, has_sequence_privilege(name, 'UPDATE') AS given
    FROM pg_get_serial_sequence('customer_mirror.changes', 'seq') AS name`)
  expect(numbers.rows).toEqual([{ shown: true, given: false }])
  await expect(server.query('SELECT key FROM customer_mirror.fingerprint_key')).rejects.toThrow('permission denied')
  await expect(reader.write((session) => session.run(text('DELETE FROM customers')))).rejects.toMatchObject({
    code: 'denied',
  })
})
