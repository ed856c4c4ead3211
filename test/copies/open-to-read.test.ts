import { dirname } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openToRead } from '../../src/copies/open-to-read.ts'
import { tamper } from '../support/mirror-file.ts'
import { aMirrorOfNights, aPlan, publishAll } from '../support/publishing.ts'
import { aMirrorForOthers, COUNT, makeReadOnly, OTHER_USER, runAsOther } from '../support/unprivileged.ts'

describe.skipIf(OTHER_USER === undefined)('in a folder that this user cannot write', () => {
  test('a mirror at rest is read in place', async () => {
    const file = await aMirrorForOthers()
    makeReadOnly(dirname(file))

    const sql = await runAsOther(['sql', '--csv', '--mirror', file, COUNT], dirname(file))
    expect(sql).toEqual({ code: 0, signal: null, stdout: 'number\r\n5\r\n', stderr: '' })
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
