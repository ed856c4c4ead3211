import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { aMirrorOfFive, temporaryFolder } from '../support/mirror-file.ts'
import { aMirrorOfNights, aPlan, publishAll } from '../support/publishing.ts'
import { asPlainUser, type Ended, startCli } from '../support/run-cli.ts'

/** Options to run the program as a user who owns nothing; undefined where there is none who reaches the program. */
const OTHER_USER = asPlainUser()

describe.skipIf(OTHER_USER === undefined)('in a folder that this user cannot write', () => {
  test('a published copy is read, also one without personal data', async () => {
    const mirror = await aMirrorOfNights()
    const [file, plain] = [aPlan(mirror).file, aPlan(mirror).file]
    publishAll(aPlan(mirror, { file }))
    publishAll(aPlan(mirror, { file: plain, withoutPersonalData: true }))
    for (const copy of [file, plain]) {
      chmodSync(dirname(dirname(copy)), 0o755)
      makeReadOnly(dirname(copy))
    }

    const all = await runAsOther(['query', '--mirror', file, '--include-removed', '--json'], dirname(file))
    expect(all).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(all.stdout).customers).toHaveLength(32)
    const unnamed = await runAsOther(['query', '--mirror', plain, '--org', 'globex', '--json'], dirname(plain))
    expect(JSON.parse(unnamed.stdout).customers).toMatchObject([{ organization: 'globex' }])
    expect(unnamed.stdout).not.toContain('"email"')
    expect(await runAsOther(['query', '--mirror', plain, '--search', 'x'], dirname(plain))).toMatchObject({ code: 2 })
  })

  test('a mirror with a journal that was left behind ends with 7, and what to look at', async () => {
    const source = await aMirrorForOthers()
    aWriter(source).exec(`DELETE FROM customers WHERE row_id > 3`)
    const folder = aFolderForOthers()
    for (const suffix of ['', '-wal']) copyFileSync(source + suffix, join(folder, `customers.db${suffix}`))
    makeReadOnly(folder)

    expect(statSync(join(folder, 'customers.db-wal')).size).toBeGreaterThan(0)
    const file = join(folder, 'customers.db')
    for (const command of [['sql', COUNT], ['organizations', 'list'], ['query']])
      expect(await runAsOther([...command, '--mirror', file], folder)).toMatchObject({
        ...{ code: 7, stdout: '' },
        stderr: expect.stringMatching(/customers\.db: .*SQLITE_\w+\)\. Check the name, who owns it and its folder/),
      })
  })

  test('a mirror that another program is writing is read as of its last transaction', async () => {
    const file = await aMirrorForOthers()
    aWriter(file).exec('DELETE FROM customers WHERE row_id > 4; BEGIN IMMEDIATE; DELETE FROM customers')
    makeReadOnly(dirname(file))

    expect(await runAsOther(['sql', '--csv', '--mirror', file, COUNT], dirname(file))).toMatchObject({
      ...{ code: 0, stderr: '' },
      stdout: 'number\r\n4\r\n',
    })
  })

  test.skipIf(OTHER_USER?.uid === undefined).each([
    ['a mirror', ''],
    ['a journal of a mirror', '-wal'],
  ])('%s that this user may not read ends with 7', async (_, suffix) => {
    const file = await aMirrorForOthers()
    aWriter(file).exec('DELETE FROM customers WHERE row_id > 4')
    makeReadOnly(dirname(file))
    chmodSync(file + suffix, 0o400)
    const ended = await runAsOther(['sql', '--mirror', file, COUNT], dirname(file))

    expect(ended).toMatchObject({ code: 7, stdout: '' })
    expect(ended.stderr).toMatch(/permission denied \(access, EACCES\)|SQLITE_CANTOPEN/)
    expect(ended.stderr).not.toMatch(/^\s+at |Unexpected/m)
  })
})

async function aMirrorForOthers(): Promise<string> {
  return aMirrorOfFive(join(aFolderForOthers(), 'a mirror?.db'))
}

function aFolderForOthers(mode = 0o755): string {
  const folder = join(temporaryFolder(), 'data')
  chmodSync(dirname(folder), 0o755)
  mkdirSync(folder)
  chmodSync(folder, mode)
  return folder
}

function makeReadOnly(folder: string): void {
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o444)
  chmodSync(folder, 0o555)
  onTestFinished(() => chmodSync(folder, 0o755))
}

/** Runs a command as a user who owns nothing, and expects that everything in the folder stays as it is. */
async function runAsOther(args: readonly string[], folder: string): Promise<Ended> {
  const [before, place] = [contentsOf(folder), aFolderForOthers(0o777)]
  const ended = await startCli(args, { cwd: folder, env: { TMPDIR: place }, ...OTHER_USER }).ended
  expect(contentsOf(folder)).toEqual(before)
  expect(readdirSync(place)).toEqual([])
  return ended
}

function contentsOf(folder: string): Record<string, string> {
  const names = readdirSync(folder).filter((name) => !name.endsWith('-shm'))
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), 'latin1')]))
}

const COUNT = 'SELECT COUNT(*) AS number FROM active_customers'

/** A program that has the mirror open, with a journal that every user may read. */
function aWriter(file: string): Database.Database {
  const writer = new Database(file, { fileMustExist: true })
  onTestFinished(() => void writer.close())
  chmodSync(file, 0o644)
  return writer
}
