import { someOf } from './support/seeds.ts'
import Database from 'better-sqlite3'
import { chmodSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { syncCommand } from '../src/cli/sync.ts'
import { list, type FaultServer } from './support/fault-server.ts'
import { rowsOf, valueOf } from './support/mirror-file.ts'
import { asPlainUser, runCli, startCli, type Ended } from './support/run-cli.ts'
import { runCommand } from './support/run-command.ts'
import { aFaultServer, aWorkplace, organizationAt, type Workplace } from './support/workplace.ts'

const PLAIN_USER = asPlainUser()

let server: FaultServer
let workplace: Workplace

beforeEach(async () => {
  server = await aFaultServer(list(300))
  workplace = aWorkplace([organizationAt(server)])
})

const sync = (...args: string[]): Promise<Ended> => runCli(['sync', ...args], { cwd: workplace.folder })

/** A user's mistake: code 2, nothing on standard output, no request, and no stack trace. */
function expectRefusal(ended: Ended, ...said: (string | RegExp)[]): void {
  expectEnd(2, ended, said)
}

/** A mirror that cannot be used as it is: code 7, and the rest as for a mistake. */
function expectMirrorRefused(ended: Ended, ...said: (string | RegExp)[]): void {
  expectEnd(7, ended, said)
}

function expectEnd(expected: number, { code, stdout, stderr }: Ended, said: (string | RegExp)[]): void {
  expect({ code, stdout }).toEqual({ code: expected, stdout: '' })
  for (const part of said) expect(stderr).toMatch(part)
  expect(stderr).not.toMatch(/^\s+at |Unexpected|node_modules/m)
  expect(server.requests).toEqual([])
}

describe('a configuration that cannot be used', () => {
  test.each<[what: string, said: RegExp, spoil: (file: string) => void]>([
    ['is missing', /^other\.yaml does not exist: run 'customer-mirror init'/, () => undefined],
    ['is a folder', /^other\.yaml is a directory, not a file/, (file) => mkdirSync(file)],
    ['is empty', /^other\.yaml is empty/, (file) => writeFileSync(file, '')],
    ['is no YAML', /^other\.yaml:1:\d+ /, (file) => writeFileSync(file, 'organizations: [')],
    ['is binary', /^other\.yaml is not UTF-8/, (file) => writeFileSync(file, Buffer.from([0x80, 0x81]))],
  ])('%s', async (_, said, spoil) => {
    spoil(join(workplace.folder, 'other.yaml'))

    expectRefusal(await sync('--config', 'other.yaml'), said)
  })

  test('has mistakes, which are all reported with their places', async () => {
    writeFileSync(
      join(workplace.folder, 'other.yaml'),
      'miror: x.db\norganizations:\n  - id: acme\n    baseUrl: http://acme.example.com\n    apiKey: typed-in-here\n    secret: { env: A }\n',
    )

    expectRefusal(
      await sync('--config', 'other.yaml'),
      /^other\.yaml:1:1 .*did you mean "mirror"\?/m,
      /^other\.yaml:4:14 organizations\.0\.baseUrl: must be an https URL/m,
      /^other\.yaml:5:13 organizations\.0\.apiKey: must not be written into this file/m,
    )
  })

  if (PLAIN_USER !== undefined) {
    test('may not be read by this user', async () => {
      chmodSync(workplace.folder, 0o755)
      chmodSync(workplace.config, 0o000)
      const ended = await startCli(['sync'], { cwd: workplace.folder, ...PLAIN_USER }).ended

      expectRefusal(ended, 'customer-mirror.yaml cannot be read: this user has no permission')
    })
  }
})

describe('an unusable secret fails only its organization, before any request', () => {
  test.each<[what: string, reference: object, said: RegExp]>([
    ['a variable that is not set', { env: 'ACME_SECRET' }, /environment ACME_SECRET .* is not set: export it/],
    ['a variable that is empty', { env: 'EMPTY' }, /environment EMPTY .* is empty/],
    ['a file that is not there', { file: './none' }, /\/none .* does not exist: create it/],
    ['a folder', { file: './data' }, /\/data .* is a directory/],
  ])('%s', async (_, reference, said) => {
    const other = await aFaultServer(list(3))
    const { folder, mirror } = aWorkplace([
      organizationAt(server, { secret: reference }),
      organizationAt(other, { id: 'globex' }),
    ])
    const { code, stderr } = await runCli(['sync'], { cwd: folder, env: { EMPTY: '' } })

    expect(code).toBe(3)
    expect(stderr).toMatch(said)
    expect(stderr).toContain('organization acme')
    expect(server.requests).toEqual([])
    expect(valueOf(mirror, 'SELECT COUNT(*) FROM customers')).toBe(3)
    expect(valueOf(mirror, `SELECT error_code FROM runs WHERE organization = 'acme'`)).toBe('config')
    expect((await runCli(['sync', 'acme'], { cwd: folder, env: { EMPTY: '' } })).code).toBe(2)
  })
})

describe('a mirror that cannot be used is not changed', () => {
  test('a folder', async () => {
    mkdirSync(workplace.mirror)

    expectMirrorRefused(await sync(), `${workplace.mirror}: is a folder; name a file in it, e.g. `)
  })

  test('a file of something else', async () => {
    const notes = 'Buy milk. '.repeat(500)
    writeFileSync(workplace.mirror, notes)

    expectMirrorRefused(await sync(), `${workplace.mirror}: is not a SQLite file. It was left as it is`)
    expect(readFileSync(workplace.mirror, 'utf8')).toBe(notes)
  })

  test('the database of another program', async () => {
    const before = sqlite('CREATE TABLE shopping (item TEXT)', `INSERT INTO shopping VALUES ('milk')`)

    expectMirrorRefused(await sync(), `${workplace.mirror}: is a SQLite file, but not a mirror of ours`)
    expect(readFileSync(workplace.mirror)).toEqual(before)
    expect(rowsOf(workplace.mirror, 'SELECT * FROM shopping')).toEqual([{ item: 'milk' }])
  })

  test('a mirror that a newer version wrote', async () => {
    const before = sqlite(
      'PRAGMA application_id = 1129138514',
      'PRAGMA user_version = 99',
      'CREATE TABLE customers (x)',
    )

    expectMirrorRefused(await sync(), /newer Customer Mirror \(its version is 99, this program knows \d+\)\. Upgrade/)
    expect(readFileSync(workplace.mirror)).toEqual(before)
  })

  test('a mirror that is damaged', async () => {
    await runCommand(syncCommand, ['--config', workplace.config])
    server.requests.length = 0
    truncateSync(workplace.mirror, 8192)
    const ended = await sync()

    expect(ended.code).toBe(7)
    expect(ended.stdout + ended.stderr).toMatch(/is damaged\. Put back a backup, or move it away and sync anew/)
    expect(ended.stdout + ended.stderr).toContain(workplace.mirror)
    expect(ended.stderr).not.toMatch(/^\s+at |Unexpected/m)
  })

  if (PLAIN_USER !== undefined) {
    test('a mirror that this user may only read', async () => {
      await runCommand(syncCommand, ['--config', workplace.config])
      server.requests.length = 0
      const before = readFileSync(workplace.mirror)
      for (const place of [workplace.folder, join(workplace.folder, 'data'), workplace.config]) chmodSync(place, 0o555)
      chmodSync(workplace.mirror, 0o444)
      const ended = await startCli(['sync'], { cwd: workplace.folder, ...PLAIN_USER }).ended
      for (const place of [workplace.folder, join(workplace.folder, 'data')]) chmodSync(place, 0o700)

      expectMirrorRefused(ended, `${workplace.mirror}: `, /may not be opened by this user|cannot be written/)
      expect(readFileSync(workplace.mirror)).toEqual(before)
    })
  }

  if (PLAIN_USER !== undefined) {
    test.each(someOf([['status'], ['organizations'], ['schedule'], ['sync', '--dry-run']]))(
      'a mirror in a folder that this user may not enter: %s',
      async (...args) => {
        await runCommand(syncCommand, ['--config', workplace.config])
        server.requests.length = 0
        for (const place of [workplace.folder, workplace.config]) chmodSync(place, 0o555)
        const ended = await startCli(args, { cwd: workplace.folder, ...PLAIN_USER }).ended
        chmodSync(workplace.folder, 0o700)

        expectMirrorRefused(ended, `${workplace.mirror}: may not be opened by this user`)
      },
    )
  }

  test('a place where no folder can be made', async () => {
    rmSync(join(workplace.folder, 'data'), { recursive: true })
    writeFileSync(join(workplace.folder, 'data'), 'a file')

    expectMirrorRefused(await sync(), 'has a file where a folder should be in its path')
  })

  test('a wrong command line creates no mirror', async () => {
    rmSync(join(workplace.folder, 'data'), { recursive: true })

    expectRefusal(await sync('acne'), 'unknown organization "acne" (did you mean "acme"?)')
    expect(existsSync(join(workplace.folder, 'data'))).toBe(false)
  })
})

/** Makes another database where the mirror would be; its bytes. */
function sqlite(...statements: string[]): Buffer {
  const db = new Database(workplace.mirror)
  for (const sql of statements) db.exec(sql)
  db.close()
  return readFileSync(workplace.mirror)
}
