import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { oneStatement, type PostgresServer, startPostgres } from '../../bench/postgres-server.ts'
import { type Sandbox, startSandbox } from '../../src/service/sandbox.ts'
import { opsFile } from '../support/metrics.ts'
import { commandsWith } from '../support/postgres/commands-with.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

/* What programs of PostgreSQL do with a mirror: partitions by psql, backups by pg_dump, pg_restore and psql. */

let server: PostgresServer
let sandbox: Sandbox
beforeAll(async () => {
  server = await startPostgres({ isDurable: false })
  sandbox = await startSandbox({ customers: [300] })
})
afterAll(async () => {
  await sandbox.close()
  await server.close()
})

test('a role that may write customers reads and writes it in partitions, of which it may read none', async () => {
  const database = await aMirror('written')
  await statement(database, WRITER)
  await statement(database, PARTITION)
  const as = at(database, 'writer')

  expect(await run(as, 'check')).toMatchObject({ code: 0, stdout: expect.stringContaining('sound and writable') })
  expect(await run(as, 'sync')).toMatchObject({ code: 0 })
  expect((await exported(as)).length).toBe(301)
  expect(await run(as, 'sql', 'SELECT 1 FROM customers_3')).toMatchObject({
    code: 7,
    stderr: expect.stringContaining('permission denied for table customers_3'),
  })
})

const WRITER = `
  CREATE ROLE writer LOGIN;
  GRANT USAGE ON SCHEMA customer_mirror TO writer;
  GRANT ALL ON ALL TABLES IN SCHEMA customer_mirror TO writer;
  GRANT ALL ON ALL SEQUENCES IN SCHEMA customer_mirror TO writer`

test.each([
  ['a mirror', 'plain', ''],
  ['a mirror in partitions', 'parts', 'PARTITION'],
])(
  'what backup and restore print brings %s into another database, where runs go on, and over itself',
  async (_, name, isParted) => {
    const from = await aMirror(name)
    if (isParted) await statement(from, PARTITION)
    const to = await aDatabase(`${name}_again`)
    const dump = join(temporaryFolder(), 'customers.dump')
    const [backup = ''] = await printed(from, 'backup', dump)
    const [restore = '', drop = ''] = await printed(to, 'restore', dump)

    for (const command of [backup, restore, restore])
      expect(shell(command)).toMatchObject({ status: 0, stdout: '', stderr: '' })

    expect(await run(before(to), 'status')).toMatchObject({ code: 0 })
    expect(shell(drop)).toMatchObject({ status: 0 })
    expect(await run(before(to), 'status')).toMatchObject({ code: 7 })
    expect(await standing(at(to))).toEqual(await standing(at(from)))
    expect(await exported(at(to))).toEqual(await exported(at(from)))
    const quick = await run(at(to), 'sync', '--quick')
    expect(quick.stdout).toMatch(/nothing new, none missing; [1-9]\d* of \d+ pages trusted without reading/)
  },
)

test('after a restore no number is given out again, and readers of the feed are sent to a new copy, from which they go on', async () => {
  const database = await aMirror('numbers')
  const dump = join(temporaryFolder(), 'customers.dump')
  const [backup = ''] = await printed(database, 'backup', dump)
  const [restore = ''] = await printed(database, 'restore', dump)
  expect(shell(backup)).toMatchObject({ status: 0 })
  expect(await run(at(database), 'sync')).toMatchObject({ code: 0 })
  expect(shell(restore)).toMatchObject({ status: 0 })

  const since = (seq: string) => run(at(database), 'export', '--format', 'jsonl', '--changes-since', seq)
  expect(await since('0')).toMatchObject({ code: 2, stderr: expect.stringContaining('start again from a copy') })
  const { stderr } = await run(at(database), 'export', '--format', 'jsonl')
  expect(await since(/Last seq: (\d+)/.exec(stderr)?.[1] ?? '')).toMatchObject({ code: 0 })
  const { stdout } = await run(at(database), 'sync', '--json')
  expect(JSON.parse(stdout).runs[0].runId).toBeGreaterThan(1_700_000_000)
})

test.each([
  ['that ends too early', (whole: Buffer) => whole.subarray(0, whole.length * 0.9)],
  ['that is none', () => Buffer.from('no backup')],
])('what restore prints leaves the mirror as it is for a backup %s', async (how, damaged) => {
  const database = await aMirror(how)
  const dump = join(temporaryFolder(), 'customers.dump')
  const [backup = ''] = await printed(database, 'backup', dump)
  expect(shell(backup)).toMatchObject({ status: 0 })
  writeFileSync(dump, damaged(readFileSync(dump)))
  const [restore = ''] = await printed(database, 'restore', dump)

  expect(shell(restore)).toMatchObject({ status: 1, stderr: expect.stringContaining('pg_restore: error:') })

  expect((await exported(at(database))).length).toBe(301)
  expect(await run(before(database), 'status')).toMatchObject({ code: 7 })
})

test('what restore prints leaves the mirror as it is for a backup of another schema', async () => {
  const database = await aMirror('another')
  const dump = join(temporaryFolder(), 'customers.dump')
  const [backup = ''] = await printed(database, 'backup', dump)
  await statement(database, 'CREATE SCHEMA another; CREATE TABLE another.orders (id int)')
  expect(shell(backup.replace('--schema=customer_mirror', '--schema=another'))).toMatchObject({ status: 0 })
  await statement(database, 'DROP TABLE another.orders; DROP SCHEMA another')
  const [restore = ''] = await printed(database, 'restore', dump)

  expect(shell(restore)).toMatchObject({ status: 1, stderr: expect.stringContaining('mirror_schema" does not exist') })

  expect((await exported(at(database))).length).toBe(301)
  expect(await run(before(database), 'status')).toMatchObject({ code: 7 })
})

/** The commands of PostgreSQL that a command names for a mirror. */
async function printed(database: string, command: string, dump: string): Promise<string[]> {
  const { code, stdout, stderr } = await run(at(database, 'mirror:s3cret'), command, dump)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  return [...stderr.matchAll(/: ((?:pg_dump|pg_restore|psql) .*)$/gm)].map(([, named = '']) => named)
}

function shell(command: string) {
  return spawnSync('/bin/sh', ['-c', command], { encoding: 'utf8' })
}

const { run, standing, exported } = commandsWith(() => sandbox)

const PARTITION = `SET search_path = customer_mirror; ${opsFile('postgres/partition-customers.sql')}`

async function aMirror(name: string): Promise<string> {
  const database = await aDatabase(name)
  expect(await run(at(database), 'sync')).toMatchObject({ code: 0 })
  return database
}

async function aDatabase(name: string): Promise<string> {
  const database = name.replaceAll(' ', '_')
  await oneStatement(server.url, `CREATE DATABASE ${database}`)
  return database
}

function statement(database: string, sql: string): Promise<void> {
  return oneStatement(at(database), sql)
}

function at(database: string, user = 'mirror'): string {
  return `postgres://${user}@${new URL(server.url).host}/${database}`
}

/** The mirror that a restore put aside. */
function before(database: string): string {
  return `${at(database)}?schema=customer_mirror_before`
}
