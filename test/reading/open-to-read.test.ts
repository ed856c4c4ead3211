import Database from 'better-sqlite3'
import { chmodSync, copyFileSync, mkdirSync, renameSync, statSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openToRead } from '../../src/reading/open-to-read.ts'
import { tamper } from '../support/mirror-file.ts'
import { aMirrorOfNights, aPlan, publishAll } from '../support/publishing.ts'
import { aMirrorForOthers, aPlaceForOthers, makeReadOnly, OTHER_USER, runAsOther } from '../support/other-user.ts'
import { startCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

const COUNT = 'SELECT COUNT(*) AS number FROM active_customers'

describe.skipIf(OTHER_USER === undefined)('in a folder that this user cannot write', () => {
  test('a mirror at rest is read in place', async () => {
    const file = await aMirrorForOthers()
    makeReadOnly(dirname(file))

    const sql = await runAsOther(['sql', '--csv', '--mirror', file, COUNT], dirname(file))
    expect(sql).toEqual({ code: 0, signal: null, stdout: 'number\r\n5\r\n', stderr: '' })
    const query = await runAsOther(
      ['query', '--org', 'acme', '--search', 'CUSTOMER 3', '--mirror', file],
      dirname(file),
    )
    expect(query).toMatchObject({ code: 0, stderr: '' })
    expect(query.stdout).toContain('Customer 3')
  })

  test('a mirror with a journal that was left behind is read with what is in it', async () => {
    const source = await aMirrorForOthers()
    const writer = aWriter(source)
    writer.exec(`DELETE FROM customers WHERE row_id > 3`)
    const folder = join(temporaryFolder(), 'left')
    chmodSync(dirname(folder), 0o755)
    mkdirSync(folder)
    for (const suffix of ['', '-wal']) copyFileSync(source + suffix, join(folder, `customers.db${suffix}`))
    makeReadOnly(folder)

    expect(statSync(join(folder, 'customers.db-wal')).size).toBeGreaterThan(0)
    const file = join(folder, 'customers.db')
    expect(await runAsOther(['sql', '--csv', '--mirror', file, COUNT], folder)).toEqual({
      ...{ code: 0, signal: null, stderr: '' },
      stdout: 'number\r\n3\r\n',
    })

    const absent = { cwd: folder, env: { TMPDIR: '/absent-folder' }, ...OTHER_USER }
    expect(await startCli(['sql', '--mirror', file, COUNT], absent).ended).toMatchObject({
      code: 7,
      stderr: expect.stringMatching(/^\/absent-folder: .*\(ENOENT\).* Let TMPDIR name a folder/),
    })
  })

  test('a mirror that another program is writing is read as of its last transaction', async () => {
    const file = await aMirrorForOthers()
    const writer = aWriter(file)
    writer.exec('DELETE FROM customers WHERE row_id > 4; BEGIN IMMEDIATE; DELETE FROM customers WHERE row_id > 1')
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
    const writer = aWriter(file)
    writer.exec('DELETE FROM customers WHERE row_id > 4')
    makeReadOnly(dirname(file))
    chmodSync(file + suffix, 0o400)
    const ended = await runAsOther(['sql', '--mirror', file, COUNT], dirname(file))

    expect(ended).toMatchObject({ code: 7, stdout: '' })
    expect(ended.stderr).toMatch(/may not be opened by this user|cannot be opened\. Check that this user/)
    expect(ended.stderr).not.toMatch(/^\s+at |Unexpected/m)
  })

  test('a mirror that is written while it is read in place ends with 5, and says that rows may not belong together', async () => {
    const file = await aMirrorForOthers()
    makeReadOnly(dirname(file))
    // More rows than pipes hold, so that the last of them is read after they are.
    const many = `WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 6000) SELECT x, hex(zeroblob(500)) FROM c`
    const running = startCli(['sql', '--csv', '--mirror', file, many], {
      cwd: dirname(file),
      env: { TMPDIR: aPlaceForOthers() },
      ...OTHER_USER,
      onFirstOutput: () => {
        chmodSync(dirname(file), 0o755)
        chmodSync(file, 0o644)
        tamper(file, `UPDATE customers SET name = 'Renamed'`)
      },
    })
    const { code, stderr } = await running.ended

    expect(code).toBe(5)
    expect(stderr).toMatch(/was written while it was read, so the rows may not belong together\. Try again/)
  })
})

test('a reader of a copy that is replaced meanwhile goes on with the one from before', async () => {
  const mirror = await aMirrorOfNights()
  const plan = aPlan(mirror)
  publishAll(plan)
  const opened = openToRead(plan.file)
  onTestFinished(() => opened.close())
  const rows = opened.db.prepare<[], { id: string }>('SELECT id FROM customers').iterate()
  const ids = [rows.next().value?.id]
  tamper(mirror, 'DELETE FROM customers')
  publishAll(plan)
  for (const { id } of rows) ids.push(id)
  opened.requireUnchanged()

  expect(ids).toHaveLength(32)
  const after = openToRead(plan.file)
  onTestFinished(() => after.close())
  expect(after.db.prepare('SELECT COUNT(*) FROM customers').pluck().get()).toBe(0n)
})

test('a copy is found behind a link, and after it was moved', async () => {
  const file = await aMirrorForOthers()
  const [link, moved] = [join(dirname(file), 'link.db'), join(dirname(file), 'moved.db')]
  renameSync(file, moved)
  symlinkSync(moved, link)
  const opened = openToRead(link)
  onTestFinished(() => opened.close())

  expect(opened.db.prepare(COUNT).pluck().get()).toBe(5n)
})

test('what is open can neither be written nor attach another file for writing', async () => {
  const file = await aMirrorForOthers()
  const opened = openToRead(file)
  onTestFinished(() => opened.close())

  expect(() => opened.db.exec(`DELETE FROM customers`)).toThrow(/readonly|read-only/)
  expect(() => opened.db.exec(`CREATE TEMP TABLE x AS SELECT * FROM customers`)).toThrow(/readonly|read-only/)
})

/** A program that has the mirror open, with a journal that every user may read. */
function aWriter(file: string): Database.Database {
  const writer = new Database(file, { fileMustExist: true })
  onTestFinished(() => void writer.close())
  chmodSync(file, 0o644)
  return writer
}
