import { expect, onTestFinished, test } from 'vitest'
import { openToRead } from '../../src/store/sqlite/open-to-read.ts'
import { tamper } from '../support/mirror-file.ts'
import { aMirrorOfNights, aPlan, publishAll } from '../support/publishing.ts'

test('a reader of a copy that is replaced meanwhile goes on with the one from before', async () => {
  const mirror = await aMirrorOfNights()
  const plan = aPlan(mirror)
  publishAll(plan)
  const opened = openToRead(plan.file)
  onTestFinished(() => void opened.close())
  const rows = opened.prepare<[], { id: string }>('SELECT id FROM customers').iterate()
  const ids = [rows.next().value?.id]
  tamper(mirror, 'DELETE FROM customers')
  publishAll(plan)
  for (const { id } of rows) ids.push(id)

  expect(ids).toHaveLength(32)
  const after = openToRead(plan.file)
  onTestFinished(() => void after.close())
  expect(after.prepare('SELECT COUNT(*) FROM customers').pluck().get()).toBe(0n)
})
