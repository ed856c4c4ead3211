import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getuid } from 'node:process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { oneStatement, PLAIN_USER, startPostgres } from '../../bench/postgres-server.ts'
import { type Sandbox, startSandbox } from '../../src/service/sandbox.ts'
import { customerId } from '../support/builders.ts'
import { opsFile } from '../support/metrics.ts'
import { temporaryFolder } from '../support/mirror-file.ts'
import { runCli, failing } from '../support/run-cli.ts'
import { aWorkplace, organizationsOf } from '../support/workplace.ts'

/* What only a PostgreSQL of its own has: TLS, roles, partitions, its programs, and standbys. */

let server: Awaited<ReturnType<typeof startServer>>
let sandbox: Sandbox
beforeAll(async () => {
  server = await startServer()
  sandbox = await startSandbox({ customers: [300] })
  for (const name of ['of_roles', 'of_owner']) await server.run('postgres', `CREATE DATABASE ${name}`)
})
afterAll(async () => {
  await sandbox.close()
  await server.close()
})

test.each([
  ['127.0.0.1', 'sslmode=verify-ca&sslrootcert=OURS', undefined],
  ['localhost', 'sslmode=verify-full&sslrootcert=OURS', undefined],
  ['127.0.0.1', 'sslmode=verify-full&sslrootcert=OURS', /does not match certificate's altnames/],
  ['localhost', 'sslmode=verify-full', /self-signed certificate|unable to .*certificate.*sslrootcert/],
])('TLS as the address asks for it: at %s with %s', async (host, asked, refused) => {
  const query = asked.replace('OURS', server.certificate)
  await run(at('mirrors'), 'sync')
  const done = await run(at('mirrors', { host, query }), 'status')

  if (refused === undefined) expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('proven') })
  else expectRefused(done, refused)
})

test('an analyst reads and exports, and writes nothing; who has no rights is told which', async () => {
  await server.run('of_roles', opsFile('postgres/roles.sql').replaceAll(/\bmirror\b/g, 'owner_of_mirror'))
  await server.run('of_roles', 'CREATE ROLE stranger LOGIN')
  const as = (user: string, ...args: string[]) => run(at('of_roles', { user }), ...args)
  expect(await as('owner_of_mirror', 'sync')).toMatchObject({ code: 0 })
  const [, revoked = ''] = /^-- (SET .* REVOKE .* analyst;)$/m.exec(opsFile('postgres/roles.sql')) ?? []
  await server.run('of_roles', revoked)

  for (const args of [['status'], ['query', '--limit', '1'], ['sql', 'SELECT count(*) FROM customers'], ['runs']])
    expect(await as('analyst', ...args)).toMatchObject({ code: 0, stderr: '' })
  expect((await exported(at('of_roles', { user: 'analyst' }))).length).toBe(301)
  const denied = /permission denied for table .*\(SQLSTATE 42501\).*the rights of that user/
  expectRefused(await as('analyst', 'sync'), denied)
  expect((await as('analyst', 'check')).stdout).toContain('this user may not write the schema')
  for (const args of [['status'], ['query'], ['sql', 'SELECT 1'], ['sync']])
    expectRefused(await as('stranger', ...args), /may not use the schema customer_mirror\. .*GRANT it USAGE/)
})

test('check names what in the tables of the mirror would end a run', async () => {
  const mirror = at('mirrors')
  await run(mirror, 'sync')
  await server.run('mirrors', 'ALTER TABLE customer_mirror.absences ADD who text NOT NULL')
  const unfilled = await run(mirror, 'check')
  await server.run('mirrors', 'ALTER TABLE customer_mirror.absences DROP who')
  await server.run('mirrors', 'CREATE UNIQUE INDEX one_email ON customer_mirror.customers (email)')
  const added = await run(mirror, 'check')
  await server.run('mirrors', 'DROP INDEX customer_mirror.one_email')

  expect(unfilled).toMatchObject({ code: 7, stdout: expect.stringContaining('the column absences.who') })
  expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining('unique index one_email on customers') })
  expect(await run(mirror, 'check')).toMatchObject({ code: 0, stdout: expect.stringMatching(/sound and writable$/m) })
})

test('move and forget are refused to a user who may not see every row, be it the owner, and work for one who does', async () => {
  const owner = 'owner_under_policies'
  await server.run('of_owner', `CREATE ROLE ${owner} LOGIN; GRANT CREATE ON DATABASE of_owner TO ${owner}`)
  const place = at('of_owner', { user: owner })
  expect(await run(place, 'sync')).toMatchObject({ code: 0 })
  const altering = (words: string) => server.run('of_owner', `ALTER TABLE customer_mirror.customers ${words}`)
  await server.run('of_owner', `CREATE POLICY few ON customer_mirror.customers USING (id < '8')`)
  const move = ['move', '--to', join(temporaryFolder(), 'customers.db')]
  const forget = ['forget', sandbox.organizations[0]?.id ?? '', customerId(1)]

  await altering('ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY')
  for (const asked of [move, forget])
    expectRefused(await run(place, ...asked), /row-level security policy for table .*\(SQLSTATE 42501\)/)

  expect((await run(place, 'check')).stdout).toContain('row level security in force on customers')
  await altering('NO FORCE ROW LEVEL SECURITY')
  expect(await run(place, ...move)).toMatchObject({ code: 0, stdout: expect.stringContaining('300 customers') })
  expect(await run(place, ...forget)).toMatchObject(failing(2, 'no customer with this'))
})

test('a standby is read and exported, and a sync to it is refused', async () => {
  const standby = await startPostgres({ isDurable: false, standbyOf: server.url })
  onTestFinished(() => standby.close())

  expect(await run(at('mirrors'), 'sync')).toMatchObject({ code: 0 })
  const newest = await standing(at('mirrors'))
  await expect.poll(() => standing(standby.url)).toEqual(newest)
  expect(await exported(standby.url)).toEqual(await exported(at('mirrors')))
  const counted = await run(standby.url, 'sql', 'SELECT count(*) FROM active_customers', '--csv')
  expect(counted).toMatchObject({ code: 0, stdout: expect.stringContaining('300') })
  expectRefused(await run(standby.url, 'sync'), /accepts no writes: .* Name the primary server as mirror/)
  const moved = await run(standby.url, 'move', '--to', join(temporaryFolder(), 'customers.db'))
  const stdout = expect.stringContaining('what is written there from now on is not in this copy')
  expect(moved).toMatchObject({ code: 0, stdout })
})

test.each(['plain', 'in_partitions'])('by the guide a mirror (%s) goes on elsewhere, or over itself', async (name) => {
  const from = await aMirror(name)
  if (name !== 'plain') await server.run(from, PARTITION)
  const to = await aDatabase(`${name}_again`)
  const dump = join(temporaryFolder(), 'customers.dump')
  const [backup = ''] = documented(from, dump)
  const [, restore = '', drop = ''] = documented(to, dump)

  for (const command of [backup, restore, restore])
    expect(shell(command)).toMatchObject({ status: 0, stdout: '', stderr: '' })

  expect(await run(before(to), 'status')).toMatchObject({ code: 0 })
  expect(shell(drop)).toMatchObject({ status: 0 })
  expect(await run(before(to), 'status')).toMatchObject({ code: 7 })
  expect(await standing(at(to))).toEqual(await standing(at(from)))
  expect(await exported(at(to))).toEqual(await exported(at(from)))
  const quick = await run(at(to), 'sync', '--quick')
  expect(quick.stdout).toMatch(/partial \(quick\), [1-9]\d* pages? trusted without reading/)
})

test('after a restore no number is given out again, and readers of the feed are sent to a new copy, from which they go on', async () => {
  const database = await aMirror('numbers')
  const dump = join(temporaryFolder(), 'customers.dump')
  const [backup = '', restore = ''] = documented(database, dump)
  expect(shell(backup)).toMatchObject({ status: 0 })
  expect(await run(at(database), 'sync')).toMatchObject({ code: 0 })
  expect(shell(restore)).toMatchObject({ status: 0 })

  const since = (seq: string) => run(at(database), 'export', '--format', 'jsonl', '--changes-since', seq)
  expect(await since('0')).toMatchObject(failing(2, 'Start again from a copy'))
  const { stderr } = await run(at(database), 'export', '--format', 'jsonl')
  expect(await since(/Last seq: (\d+)/.exec(stderr)?.[1] ?? '')).toMatchObject({ code: 0 })
  const { stdout } = await run(at(database), 'sync', '--json')
  expect(JSON.parse(stdout).runs[0].runId).toBeGreaterThan(1_700_000_000)
})

test.each<[how: string, damaged: (whole: Buffer) => Buffer, schema: string, said: string]>([
  ['that ends too early', (whole) => whole.subarray(0, whole.length * 0.9), 'customer_mirror', 'pg_restore: error:'],
  ['of another schema', (whole) => whole, 'another', 'mirror_schema" does not exist'],
])('what the guide shows leaves the mirror as it is for a backup %s', async (how, damaged, schema, said) => {
  const database = await aMirror(how)
  const dump = join(temporaryFolder(), 'customers.dump')
  const [backup = '', restore = ''] = documented(database, dump)
  await server.run(database, 'CREATE SCHEMA another; CREATE TABLE another.orders (id int)')
  expect(shell(backup.replace('--schema=customer_mirror', `--schema=${schema}`))).toMatchObject({ status: 0 })
  await server.run(database, 'DROP SCHEMA another CASCADE')
  writeFileSync(dump, damaged(readFileSync(dump)))

  const { status, stderr } = shell(restore)

  expect([status === 0, stderr]).toEqual([false, expect.stringContaining(said)])
  expect((await exported(at(database))).length).toBe(301)
  expect(await run(before(database), 'status')).toMatchObject({ code: 7 })
})

/** The commands of docs/operate/postgres.md for a backup, a restore and what was there before, for a database and a file. */
function documented(database: string, dump: string): string[] {
  const guide = readFileSync(new URL('../../docs/operate/postgres.md', import.meta.url), 'utf8')
  const all = [...guide.matchAll(/^((?:pg_dump|pg_restore|psql --no-psqlrc) .*?) {2}# /gm)].map(([, line = '']) => line)
  return all.map((line) =>
    line
      .replaceAll(/'postgres:[^']*'/g, `'${at(database)}'`)
      .replaceAll('/backup/customers.dump', dump)
      .replaceAll('docs/ops/', fileURLToPath(new URL('../../docs/ops/', import.meta.url))),
  )
}

function shell(command: string) {
  return spawnSync('/bin/sh', ['-c', command], { encoding: 'utf8' })
}

const PARTITION = `SET search_path = customer_mirror; ${opsFile('postgres/partition-customers.sql')}`

async function aMirror(name: string): Promise<string> {
  const database = await aDatabase(name)
  expect(await run(at(database), 'sync')).toMatchObject({ code: 0 })
  return database
}

async function aDatabase(name: string): Promise<string> {
  const database = name.replaceAll(' ', '_')
  await server.run('postgres', `CREATE DATABASE ${database}`)
  return database
}

/** The mirror that a restore put aside. */
function before(database: string): string {
  return at(database, { query: 'schema=customer_mirror_before' })
}

/** Runs a command with a mirror that the environment names, of the organizations of the sandbox. */
function run(mirror: string, ...args: string[]) {
  const { folder } = aWorkplace(organizationsOf(sandbox), { defaults: { scan: 'chain' } })
  return runCli(args, { cwd: folder, env: { CUSTOMER_MIRROR_MIRROR: mirror, COLUMNS: '80' } })
}

/** How the organizations of a mirror stand, without ages. */
async function standing(mirror: string): Promise<unknown> {
  const { stdout } = await run(mirror, 'status', '--json')
  return JSON.parse(stdout, (name, value: unknown) => (/age/i.test(name) ? undefined : value))
}

async function exported(mirror: string): Promise<string[]> {
  const file = join(temporaryFolder(), 'exported.csv')
  expect(await run(mirror, 'export', '--format', 'csv', '-o', file)).toMatchObject({ code: 0 })
  return readFileSync(file, 'utf8').trimEnd().split('\n')
}

function at(database: string, { user = 'mirror', host = '127.0.0.1', query = '' } = {}): string {
  const { port } = new URL(server.url)
  return `postgres://${user}@${host}:${port}/${database}?${query}`
}

/** One sentence or two, without a stack trace. */
function expectRefused({ code, stdout, stderr }: Awaited<ReturnType<typeof run>>, said: RegExp): void {
  expect({ code, stdout }).toEqual({ code: 7, stdout: '' })
  expect(stderr).toMatch(said)
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  expect(stderr).not.toMatch(/Unexpected|\bat .*\.ts/)
}

/** A server with TLS, made by openssl, whose certificate is for `localhost`. */
async function startServer() {
  const folder = mkdtempSync(join(tmpdir(), 'customer-mirror-tls-'))
  chmodSync(folder, 0o755)
  const { certificate, key } = aCertificate(folder)
  const postgres = await startPostgres({ isDurable: false })
  const runIn = (database: string, sql: string) =>
    oneStatement(Object.assign(new URL(postgres.url), { pathname: `/${database}` }).href, sql)
  for (const [name, value] of Object.entries({ ssl: 'on', ssl_cert_file: certificate, ssl_key_file: key }))
    await runIn('postgres', `ALTER SYSTEM SET ${name} = '${value}'`)
  await postgres.kill()
  await postgres.start()
  return {
    ...postgres,
    certificate,
    /** Runs statements in a database as its owner. */
    run: runIn,
    close: async () => {
      await postgres.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A certificate for `localhost` that is its own authority. */
function aCertificate(folder: string) {
  const [key, certificate] = [join(folder, 'ours.key'), join(folder, 'ours.pem')]
  const how = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=ours']
  const args = ['req', '-x509', ...how, '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', certificate]
  const { status, stderr, error } = spawnSync('openssl', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`openssl failed: ${error?.message ?? stderr}`)
  chmodSync(key, 0o600)
  if (getuid?.() === 0) chownSync(key, PLAIN_USER, PLAIN_USER)
  return { certificate, key }
}
