import { expect, onTestFinished, test } from 'vitest'
import { openMirror, openMirrorToRead } from '../../src/mirror/mirror.ts'
import { customers, START_MS } from '../support/builders.ts'
import { isThere } from '../support/mirror-reader.ts'
import { aMirror, aMirrorFile, mirrorPages, rowsOf, tamper } from '../support/mirror-file.ts'

/** The public tables and views: they may gain columns, and never lose or rename one. */
const PUBLIC = {
  customers: [
    ...['organization', 'id', 'name', 'username', 'email', 'phone', 'address', 'company_name', 'language', 'timezone'],
    ...['created_at', 'created_at_utc', 'extra', 'first_seen_at', 'changed_at', 'missing_since', 'removed_at'],
    ...['last_run_id'],
  ],
  active_customers: ['organization', 'id', 'name', 'email', 'created_at_utc', 'extra', 'last_run_id'],
  changes: ['seq', 'run_id', 'organization', 'id', 'change', 'fields', 'at'],
  runs: [
    ...['id', 'organization', 'trigger', 'started_at', 'finished_at', 'status', 'proof', 'reasons', 'requests'],
    ...['pages', 'received', 'inserted', 'updated', 'unchanged', 'duplicates', 'rejected', 'missing', 'removed'],
    ...['returned', 'held', 'throttled', 'waited_ms', 'data_as_of', 'error_code', 'error'],
  ],
  rejects: ['run_id', 'organization', 'record_id', 'page', 'position', 'payload', 'reasons', 'seen_at', 'resolved_at'],
  freshness: [
    ...['organization', 'data_as_of', 'age_seconds', 'last_status', 'active', 'missing', 'removed', 'open_rejects'],
    ...['read_as_of', 'read_age_seconds', 'proven_as_of', 'proven_age_seconds', 'held'],
  ],
}

test.each(Object.entries(PUBLIC))('readers find %s with the promised columns', async (table, columns) => {
  const { file } = await aMirror()

  const found = rowsOf(file, `SELECT name FROM pragma_table_info(?)`, table).map(({ name }) => name)

  expect(found).toEqual(expect.arrayContaining(columns))
})

test('active_customers leaves out removed customers', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, 3)])
  tamper(mirror.file, `UPDATE customers SET removed_at = '2026-01-06 02:00:00.000' WHERE name = 'Customer 2'`)

  expect(rowsOf(mirror.file, 'SELECT name FROM active_customers ORDER BY name').map(({ name }) => name)).toEqual([
    'Customer 1',
    'Customer 3',
  ])
})

test('a mirror that is opened again holds what it held', async () => {
  const file = aMirrorFile()
  await aClosedMirror(file, 20)

  const again = await aMirror(file)

  expect(await again.listRuns({ limit: 5 })).toMatchObject([{ received: 20, inserted: 20 }])
})

test('reading a missing mirror reports it and creates none', async () => {
  const file = aMirrorFile()

  await expect(openMirrorToRead(file)).rejects.toMatchObject({ name: 'MirrorUnusable', code: 'mirror-missing' })
  expect(isThere(file)).toBe(false)
})

test('views that were dropped are named as damage, and made anew when the mirror is opened to write', async () => {
  const file = aMirrorFile()
  await aClosedMirror(file, 2)
  const views = ['active_customers', 'customers_daily', 'customers_history', 'freshness']
  const definitions = () => views.map((name) => rowsOf(file, 'SELECT * FROM pragma_table_info(?)', name))
  const [made, held] = [definitions(), rowsOf(file, `SELECT * FROM customers_history`)]
  for (const name of views) tamper(file, `DROP VIEW ${name}`)
  const reader = await openMirrorToRead(file)
  onTestFinished(() => reader.close())

  expect(await reader.findDamage()).toEqual(
    views.map((name) => `the view ${name} is not there; the next sync makes it anew`),
  )
  await expect(reader.listFreshness()).rejects.toMatchObject({ code: 'mirror-replaced' })
  await aMirror(file)

  expect(await reader.findDamage()).toEqual([])
  expect(definitions()).toEqual(made)
  expect(rowsOf(file, `SELECT * FROM customers_history`)).toEqual(held)
})

test('a mirror opened to read refuses to be written, and reads on', async () => {
  const file = aMirrorFile()
  await aClosedMirror(file, 2)
  const reader = await openMirrorToRead(file)
  onTestFinished(() => reader.close())

  const writing = reader.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })

  await expect(writing).rejects.toMatchObject({ name: 'MirrorUnusable', code: 'mirror-read-only' })
  expect(await reader.listRuns({ limit: 5 })).toHaveLength(1)
})

/** A mirror with so many customers, made by a program that has ended. */
async function aClosedMirror(file: string, count: number): Promise<void> {
  const mirror = await openMirror(file)
  await mirrorPages(mirror, [customers(1, count)])
  await mirror.close()
}
