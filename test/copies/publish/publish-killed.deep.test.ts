import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { publishApart } from '../../../src/copies/publish-plan.ts'
import { night } from '../../store/nights.ts'
import { customers } from '../../support/builders.ts'
import { aMirror } from '../../support/mirror-file.ts'
import { aPlan } from '../../support/publishing.ts'

const CUSTOMERS = 800

test('killed at any moment two at once do not disturb each other: the second waits, or gives up with a clear error', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, CUSTOMERS))
  const plan = aPlan(mirror.file, { lockWaitMs: 60_000, keep: 5 })
  const { signal } = new AbortController()
  const all = await Promise.all([1, 2, 3].map(() => publishApart([plan], { signal })))

  expect(all.map(({ failed }) => failed)).toEqual([[], [], []])
  expect(readdirSync(dirname(plan.file)).filter((name) => name.endsWith('.db'))).toHaveLength(3)
  const lock = new Database(join(dirname(plan.file), '.readers.db.writing'))
  onTestFinished(() => void lock.close())
  lock.exec('BEGIN EXCLUSIVE')
  const { failed } = await publishApart([{ ...plan, lockWaitMs: 10 }], { signal })
  expect(failed).toMatchObject([{ code: 'busy', message: expect.stringContaining('another process writes it') }])
})
