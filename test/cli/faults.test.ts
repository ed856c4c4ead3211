import Database from 'better-sqlite3'
import { spawnSync } from 'node:child_process'
import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { statusCommand } from '../../src/cli/status.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { asPlainUser, startCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

/*
 * Each class of fault, as a command meets it: the place, what was reported with its code, and one sentence with what to do.
 */

async function aMirroredPlace(mirror?: string) {
  const organizations = organizationsOf(await aSandbox({ customers: [300] }))
  return mirror === undefined ? aWorkplace(organizations) : aWorkplace(organizations, { mirror })
}

async function sync({ config }: { config: string }): Promise<{ code: number; said: string }> {
  const { code, stdout, stderr } = await runCommand(syncCommand, ['--config', config])
  return { code, said: (stdout + stderr).replaceAll(/\s+/g, ' ') }
}

test('missing: nothing was mirrored yet', async () => {
  const place = await aMirroredPlace()

  expect(await runCommand(statusCommand, ['--config', place.config])).toMatchObject({
    code: 7,
    stderr: `${place.mirror}: there is no mirror yet. Run 'customer-mirror sync' to make it, or name another one.\n`,
  })
})

test.each<[fault: string, harm: (file: string) => void, said: RegExp]>([
  [
    'foreign: no file of SQLite',
    (file) => writeFileSync(file, 'x'.repeat(8192)),
    /not a database \(SQLITE_NOTADB\)\. It is not a mirror/,
  ],
  [
    'foreign: of another program',
    (file) => alone(file, 'CREATE TABLE notes (id)'),
    /of another program\. It is not a mirror of ours/,
  ],
  [
    'damaged: a page is gone',
    harmed,
    /malformed .*\(SQLITE_CORRUPT\w*\)\. It is damaged, or its disk failed.*put back a backup/,
  ],
])('%s', async (_, harm, said) => {
  const place = await aMirroredPlace()
  await sync(place)
  harm(place.mirror)

  expect(await sync(place)).toEqual({ code: 7, said: expect.stringContaining(`${place.mirror}: `) })
  expect((await sync(place)).said).toMatch(said)
})

describe.skipIf(asPlainUser() === undefined)('as a user who may not write', () => {
  test('denied: the file and its folder belong to another user', async () => {
    const place = await aMirroredPlace()
    await sync(place)
    chmodSync(place.folder, 0o755)
    chmodSync(place.config, 0o644)
    const { code, stdout, stderr } = await startCli(['sync'], { cwd: place.folder, ...asPlainUser() }).ended

    expect(code).toBe(7)
    expect((stdout + stderr).replaceAll(/\s+/g, ' ')).toMatch(
      /customers\.db: permission denied \(\w+, EACCES\)\. Check the name, who owns it/,
    )
  })
})

test.runIf(spawnSync('mount', ['--version']).status === 0 && process.getuid?.() === 0)(
  'full: the disk has no room, what was saved is kept, and the next run goes on',
  async () => {
    const disk = temporaryFolder()
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]).status !== 0) return
    onTestFinished(() => void spawnSync('umount', ['--lazy', disk]))
    const place = await aMirroredPlace(`${disk}/data/customers.db`)
    await runCommand(syncCommand, ['--config', place.config, '--dry-run'])
    writeFileSync(`${disk}/ballast`, Buffer.alloc(900 * 1024))
    const full = await sync(place)

    expect(full.code).toBe(5)
    expect(full.said).toMatch(/customers\.db: .*\((SQLITE_\w+|\w+, ENOSPC)\)\. Free some space on that disk/)

    rmSync(`${disk}/ballast`)
    expect(await sync(place)).toMatchObject({ code: 0 })
  },
)

function alone(file: string, sql: string): void {
  for (const ending of ['', '-wal', '-shm']) rmSync(file + ending, { force: true })
  const db = new Database(file)
  db.exec(sql)
  db.close()
}

function harmed(file: string): void {
  const db = new Database(file)
  db.unsafeMode(true).exec(
    `PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 999999 WHERE name = 'runs'`,
  )
  db.close()
}
