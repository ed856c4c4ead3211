import { chmodSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeReadOnly, OTHER_USER, runAsOther } from '../support/other-user.ts'
import { aMirrorOfNights, aPlan, publishAll } from '../support/publishing.ts'

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

    const all = await runAsOther(['query', '--mirror', file, '--include-removed', '--jsonl'], dirname(file))
    expect(all).toMatchObject({ code: 0, stderr: '' })
    expect(all.stdout.trimEnd().split('\n')).toHaveLength(32)
    const unnamed = await runAsOther(['query', '--mirror', plain, '--org', 'globex', '--json'], dirname(plain))
    expect(JSON.parse(unnamed.stdout).customers).toMatchObject([{ organization: 'globex' }])
    expect(unnamed.stdout).not.toContain('"email"')
    expect(await runAsOther(['query', '--mirror', plain, '--search', 'x'], dirname(plain))).toMatchObject({ code: 2 })
  })
})
