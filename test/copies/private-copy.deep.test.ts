import { expect, onTestFinished, test } from 'vitest'
import { openMirror, openOrganizations } from '../../src/store/mirror.ts'
import { findRecorded } from '../../src/copies/organizations.ts'
import { makePrivateCopy } from '../../src/copies/private-copy.ts'
import { night } from '../store/nights.ts'
import { customerId, customers, START_MS } from '../support/builders.ts'
import { rowsOf } from '../support/mirror-file.ts'
import { addressOf } from '../support/mirror-reader.ts'
import { aPostgresMirror } from '../support/postgres/here.ts'
import { exportedFrom } from './export/exported.ts'

test('a private copy knows which customer was forgotten last in each organization, and no hash of one', async () => {
  const mirror = await openMirror(aPostgresMirror())
  onTestFinished(() => mirror.close())
  for (const organization of ['acme', 'globex']) await night(mirror, 0, customers(1, 5), { organization })
  const forgetting = { organization: 'acme', nowMs: START_MS, monotonicMs: undefined }
  for (const n of [3, 4]) await mirror.forgetCustomer({ ...forgetting, id: customerId(n) })
  const copy = await makePrivateCopy(addressOf(mirror.file))
  onTestFinished(() => copy.remove())

  expect(rowsOf(copy.file, 'SELECT organization, number, hash FROM forgotten')).toEqual([
    { organization: 'acme', number: 2, hash: '' },
  ])
})

test('a reader of the changes goes on after the organization of the last ones was forgotten', async () => {
  const mirror = await openMirror(aPostgresMirror())
  onTestFinished(() => mirror.close())
  for (const organization of ['acme', 'globex'])
    for (const n of [0, 1]) await night(mirror, n, customers(1, 5 + n), { organization })
  const organizations = await openOrganizations(addressOf(mirror.file))
  await organizations.forget('globex', { nowMs: START_MS, monotonicMs: 0 })
  await organizations.close()
  const copy = await makePrivateCopy(addressOf(mirror.file))
  onTestFinished(() => copy.remove())

  expect((await exportedFrom(copy.file, { changesSince: 2 })).done).toMatchObject({ lastSeq: 1 })
})

test('a private copy records of runs what the mirror does', async () => {
  const mirror = await openMirror(aPostgresMirror())
  onTestFinished(() => mirror.close())
  for (const organization of ['acme', 'globex']) await night(mirror, 0, customers(1, 5), { organization })
  await mirror.forgetCustomer({ organization: 'acme', nowMs: START_MS, monotonicMs: undefined, id: customerId(3) })
  const organizations = await openOrganizations(addressOf(mirror.file))
  await organizations.retire('globex', { nowMs: START_MS, monotonicMs: 0 })
  await organizations.close()
  const copy = await makePrivateCopy(addressOf(mirror.file))
  onTestFinished(() => copy.remove())

  expect(await findRecorded(copy.file)).toEqual(await findRecorded(addressOf(mirror.file)))
})
