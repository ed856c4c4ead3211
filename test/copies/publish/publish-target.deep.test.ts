import { execFileSync } from 'node:child_process'
import { chmodSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { PLAIN_USER } from '../../../bench/postgres-server.ts'
import { aPlan, aSmallMirror, isRoot } from '../../support/publishing.ts'
import { asPlainUser } from '../../support/run-cli.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'

describe.runIf(isRoot && asPlainUser() !== undefined)('as another user', () => {
  test('a group that this user is not in is refused, and nothing is left', async () => {
    const mirror = await aSmallMirror()
    const folder = temporaryFolder()
    for (const path of [folder, dirname(mirror)]) chmodSync(path, 0o777)
    for (const name of readdirSync(dirname(mirror))) chmodSync(join(dirname(mirror), name), 0o666)
    const plan = aPlan(mirror, { file: join(folder, 'copies', 'readers.db'), group: 60 })
    const program = new URL('../../../src/report/publish-process.ts', import.meta.url).pathname
    const publish = (change: object) =>
      execFileSync(process.execPath, [program], {
        input: JSON.stringify([{ ...plan, ...change }]),
        env: { ...process.env, NODE_COMPILE_CACHE: inject('compiledForPlainUser') },
        uid: PLAIN_USER,
        gid: PLAIN_USER,
        encoding: 'utf8',
      })

    expect(publish({})).toMatch(/"failed":\[\{.*usage.*to be given to group 60.*\(f?chown, EPERM\)/)
    expect(readdirSync(folder)).toEqual([])
    expect(publish({ file: '/root/copies/readers.db', group: undefined })).toMatch(/usage.*EACCES/)
    expect(publish({ file: '/etc/readers.db', group: undefined })).toMatch(/usage.*permission denied \(open, EACCES\)/)
    expect(publish({ group: undefined })).toMatch(/"failed":\[\]/)
  })
})
