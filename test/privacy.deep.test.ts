import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { privacyPolicy } from '../src/privacy/privacy-policy.ts'
import { customers, MINUTE_MS, START_MS } from './support/builders.ts'
import { sqliteAlone } from './support/mirror-choice.ts'
import { aMirror, valueOf } from './support/mirror-file.ts'
import {
  OTHER_KEY,
  POLICY,
  hmac,
  mirrorList,
  stoppedWhileItRewrites,
  textsIn,
  changesOf,
  rowOf,
  unapplied,
} from './support/private-nights.ts'

test('a run that is stopped while it rewrites is continued by the next, and hashes nothing twice', async () => {
  const mirror = await aMirror()
  const list = customers(1, 2500)
  await mirrorList(mirror, list, undefined, { pageSize: 100 })
  const { stopping, signal } = stoppedWhileItRewrites(mirror)
  const { report } = await mirrorList(stopping, list, POLICY, { signal, pageSize: 100 })

  expect(report).toMatchObject({ status: 'interrupted', received: 0 })
  expect(valueOf(mirror.file, `SELECT COUNT(*) FROM customers WHERE phone LIKE 'hmac:%'`)).toBe(2000)
  expect(await unapplied(mirror)).toEqual([{ organization: 'acme', left: 'values' }])

  const { report: next } = await mirrorList(mirror, list, POLICY, { pageSize: 100 })
  expect(next).toMatchObject({ status: 'complete', proof: 'proven', updated: 0, unchanged: 2500 })
  expect(await unapplied(mirror)).toEqual([])
  expect(textsIn(mirror.file, ['Exampleton', '+1 555 0100'])).toEqual([])
})

test('a policy that changes again while it is applied leaves no value of either', async () => {
  const mirror = await aMirror()
  const list = customers(1, 2500)
  await mirrorList(mirror, list, undefined, { pageSize: 100 })
  const { stopping, signal } = stoppedWhileItRewrites(mirror)
  await mirrorList(stopping, list, POLICY, { signal, pageSize: 100 })
  const other = privacyPolicy({ drop: ['fax'], hash: ['phone'], key: OTHER_KEY })
  const { report } = await mirrorList(mirror, list, other, { pageSize: 100 })

  expect(report).toMatchObject({ status: 'complete', updated: 2500 })
  expect(valueOf(mirror.file, `SELECT COUNT(*) FROM customers WHERE phone LIKE 'hmac:%'`)).toBe(2500)
  expect(rowOf(mirror, 1)).toMatchObject({
    phone: hmac('+1 555 0100 1', OTHER_KEY),
    address: '1 Example Street, Exampleton',
  })
  expect(rowOf(mirror, 2500)).toMatchObject({ phone: hmac('+1 555 0100 2500', OTHER_KEY) })
  expect(changesOf(mirror)).toEqual([])
  expect(textsIn(mirror.file, ['+1 555 0100', hmac('+1 555 0100 1')])).toEqual([])
})

test('a worker with the old configuration that was replaced saves nothing after the new policy', async () => {
  const mirror = await aMirror()
  await mirrorList(mirror, customers(1, 5))
  const nowMs = START_MS + 100 * 60 * MINUTE_MS
  const old = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs })
  const { report } = await mirrorList(mirror, customers(1, 5), POLICY, { now: () => nowMs + 5 * MINUTE_MS })

  expect(report).toMatchObject({ status: 'complete' })
  await expect(mirror.applyPrivacy(old, nowMs + 6 * MINUTE_MS)).resolves.toBe(false)
  await expect(mirror.savePages(old, [], nowMs + 6 * MINUTE_MS)).rejects.toThrow(/another run took over/)
  expect(textsIn(mirror.file, ['+1 555 0100'])).toEqual([])
})

test.skipIf(sqliteAlone.wal)('a reader that keeps the file busy is waited for by the next run', async () => {
  const mirror = await aMirror()
  await mirrorList(mirror, customers(1, 50))
  const reader = new Database(mirror.file, { readonly: true })
  onTestFinished(() => void reader.close())
  reader.exec('BEGIN')
  reader.prepare('SELECT COUNT(*) FROM customers').get()
  const { report } = await mirrorList(mirror, customers(1, 50), POLICY)

  expect(report).toMatchObject({ status: 'complete', proof: 'proven' })
  expect(textsIn(mirror.file, ['Exampleton'])).toEqual(['Exampleton'])
  expect(await unapplied(mirror)).toEqual([{ organization: 'acme', left: 'free space' }])
  reader.exec('COMMIT')
  await mirrorList(mirror, customers(1, 50), POLICY)
  expect(await unapplied(mirror)).toEqual([])
  expect(textsIn(mirror.file, ['Exampleton'])).toEqual([])
})
