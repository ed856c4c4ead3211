import { chmodSync, copyFileSync, mkdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { aMirrorOfNights, aPlan, publishAll } from '../support/publishing.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aMirrorForOthers, aWriter, COUNT, makeReadOnly, OTHER_USER, runAsOther } from '../support/unprivileged.ts'

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
    const folder = join(temporaryFolder(), 'left')
    chmodSync(dirname(folder), 0o755)
    mkdirSync(folder)
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
    expect(ended.stderr).toMatch(/permission denied \(access, EACCES\)|SQLITE_CANTOPEN/)
    expect(ended.stderr).not.toMatch(/^\s+at |Unexpected/m)
  })
})
