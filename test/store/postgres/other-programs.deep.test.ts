import { Client } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { oneStatement, startPostgres } from '../../../bench/postgres-server.ts'
import { HOLDING_TABLES } from '../../../src/store/privacy/rewrite-hidden.ts'
import { vacuum } from '../../../src/store/postgres/vacuum.ts'
import { openDatabase } from '../../../src/store/postgres/open-database.ts'
import { eventually } from '../../support/eventually.ts'
import { opsFile } from '../../support/named-metrics.ts'

test('rows that a transaction of an analyst still sees are not called freed, with the rights of roles.sql', async () => {
  const server = await startPostgres({ isDurable: false })
  onTestFinished(() => server.close())
  await oneStatement(server.url, opsFile('postgres/roles.sql').replaceAll(/\bmirror\b/g, 'owner_of_mirror'))
  const as = (user: string) => Object.assign(new URL(server.url), { username: user }).href
  const database = await openDatabase(as('owner_of_mirror'), 'write')
  onTestFinished(() => database.close())
  await database.write((session) => session.run(A_CUSTOMER))
  const analyst = new Client({ connectionString: as('analyst') })
  await analyst.connect()
  onTestFinished(() => analyst.end())

  await analyst.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await analyst.query('SELECT count(*) FROM customer_mirror.customers')
  await database.write((session) => session.run(`DELETE FROM customers WHERE organization = 'acme'`))
  expect(await vacuum(database, HOLDING_TABLES, { patienceMs: 100 })).toBe(false)
  await analyst.query('COMMIT')

  expect(await vacuum(database, HOLDING_TABLES)).toBe(true)
})

test('nor are those that a prepared transaction, or a query on a standby, keeps', async () => {
  const server = await startPostgres({ isDurable: false, settings: ['max_prepared_transactions=1'] })
  onTestFinished(() => server.close())
  const database = await openDatabase(server.url, 'write')
  onTestFinished(() => database.close())
  const feedback = ['hot_standby_feedback=on', 'wal_receiver_status_interval=1s', 'max_prepared_transactions=1']
  const standby = await startPostgres({ isDurable: false, standbyOf: server.url, settings: feedback })
  onTestFinished(() => standby.close())
  const analyst = new Client({ connectionString: standby.url })
  analyst.on('error', () => {})
  await analyst.connect()
  onTestFinished(() => analyst.end())
  const isFreed = () => vacuum(database, HOLDING_TABLES, { patienceMs: 100 })

  await oneStatement(server.url, `BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION 'of another program'`)
  await database.write((session) => session.run(A_CUSTOMER))
  expect(await isFreed()).toBe(false)
  await oneStatement(server.url, `COMMIT PREPARED 'of another program'`)
  await analyst.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await analyst.query('SELECT count(*) FROM customer_mirror.customers')
  await eventually(
    () => database.read((session) => session.all(HELD_BACK)),
    (held) => held.length > 0,
  )
  await database.write((session) => session.run(`DELETE FROM customers WHERE organization = 'acme'`))
  expect(await isFreed()).toBe(false)
  await analyst.query('COMMIT')

  await eventually(isFreed, (isIt) => isIt)
})

const HELD_BACK = 'SELECT pid FROM pg_stat_activity WHERE datname IS NULL AND backend_xmin IS NOT NULL'

const A_CUSTOMER = `
  INSERT INTO customers (row_id, organization, id, first_seen_at, changed_at, last_run_id, updated_at)
  VALUES (1, 'acme', '00000000-0000-4000-8000-000000000001', now(), now(), 1, now())`
