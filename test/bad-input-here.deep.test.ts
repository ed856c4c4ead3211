import Database from 'better-sqlite3'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { syncCommand } from '../src/cli/sync.ts'
import { rowsOf } from './support/mirror-file.ts'
import { mirroringHere } from './support/mirroring-here.ts'
import { asPlainUser, startCli } from './support/run-cli.ts'
import { runCommand } from './support/run-command.ts'
import { someOf } from './support/seeds.ts'

const PLAIN_USER = asPlainUser()
const here = mirroringHere()

describe('a mirror that cannot be used is not changed', () => {
  test('a folder', async () => {
    mkdirSync(here.workplace.mirror)

    here.expectMirrorRefused(await here.sync(), `${here.workplace.mirror}: is a folder. It is not a mirror of ours`)
  })

  test('the database of another program', async () => {
    const before = sqlite('CREATE TABLE shopping (item TEXT)', `INSERT INTO shopping VALUES ('milk')`)

    here.expectMirrorRefused(await here.sync(), `${here.workplace.mirror}: is a SQLite file of another program`)
    expect(readFileSync(here.workplace.mirror)).toEqual(before)
    expect(rowsOf(here.workplace.mirror, 'SELECT * FROM shopping')).toEqual([{ item: 'milk' }])
  })

  test('a mirror that another version wrote', async () => {
    const before = sqlite(
      'PRAGMA application_id = 1129138514',
      'PRAGMA user_version = 99',
      'CREATE TABLE customers (x)',
    )

    here.expectMirrorRefused(
      await here.sync(),
      /another version of Customer Mirror made this mirror \(it is of version 99, .*\), so it is left as it is\. Use the version that made it/,
    )
    expect(readFileSync(here.workplace.mirror)).toEqual(before)
  })

  test('a mirror that is damaged', async () => {
    await runCommand(syncCommand, ['--config', here.workplace.config])
    here.server.requests.length = 0
    truncateSync(here.workplace.mirror, 8192)
    const ended = await here.sync()

    expect(ended.code).toBe(7)
    expect(ended.stdout + ended.stderr).toMatch(
      /is damaged, or its disk failed .* put back a backup, or move the file away and sync anew/,
    )
    expect(ended.stdout + ended.stderr).toContain(here.workplace.mirror)
    expect(ended.stderr).not.toMatch(/^\s+at |Unexpected/m)
  })

  if (PLAIN_USER !== undefined) {
    test('a mirror that this user may only read', async () => {
      await runCommand(syncCommand, ['--config', here.workplace.config])
      here.server.requests.length = 0
      const before = readFileSync(here.workplace.mirror)
      for (const place of [here.workplace.folder, join(here.workplace.folder, 'data'), here.workplace.config])
        chmodSync(place, 0o555)
      chmodSync(here.workplace.mirror, 0o444)
      const ended = await startCli(['sync'], { cwd: here.workplace.folder, ...PLAIN_USER }).ended
      for (const place of [here.workplace.folder, join(here.workplace.folder, 'data')]) chmodSync(place, 0o700)

      here.expectMirrorRefused(ended, `${here.workplace.mirror}: `, /EACCES|SQLITE_READONLY|SQLITE_CANTOPEN/)
      expect(readFileSync(here.workplace.mirror)).toEqual(before)
    })
  }

  if (PLAIN_USER !== undefined) {
    test.each(someOf([['status'], ['organizations', 'list'], ['schedule'], ['sync', '--dry-run']]))(
      'a mirror in a folder that this user may not enter: %s',
      async (...args) => {
        await runCommand(syncCommand, ['--config', here.workplace.config])
        here.server.requests.length = 0
        for (const place of [here.workplace.folder, here.workplace.config]) chmodSync(place, 0o555)
        const ended = await startCli(args, { cwd: here.workplace.folder, ...PLAIN_USER }).ended
        chmodSync(here.workplace.folder, 0o700)

        here.expectMirrorRefused(ended, `${here.workplace.mirror}: permission denied (stat, EACCES)`)
      },
    )
  }

  test('a place where no folder can be made', async () => {
    rmSync(join(here.workplace.folder, 'data'), { recursive: true })
    writeFileSync(join(here.workplace.folder, 'data'), 'a file')

    here.expectMirrorRefused(await here.sync(), 'not a directory (open, ENOTDIR)')
  })

  test('a wrong command line creates no mirror', async () => {
    rmSync(join(here.workplace.folder, 'data'), { recursive: true })

    here.expectRefusal(await here.sync('acne'), 'unknown organization "acne" (did you mean "acme"?)')
    expect(existsSync(join(here.workplace.folder, 'data'))).toBe(false)
  })
})

/** Makes another database where the mirror would be; its bytes. */
function sqlite(...statements: string[]): Buffer {
  const db = new Database(here.workplace.mirror)
  for (const sql of statements) db.exec(sql)
  db.close()
  return readFileSync(here.workplace.mirror)
}
