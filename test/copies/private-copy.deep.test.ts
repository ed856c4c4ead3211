import { expect, onTestFinished, test } from 'vitest'
import { findRecorded } from '../../src/copies/organizations.ts'
import { makePrivateCopy } from '../../src/copies/move.ts'
import { CLOCKS, night, organizationsOf } from '../store/nights.ts'
import { customerId, customers } from '../support/builders.ts'
import { aMirror, rowsOf } from '../support/mirror-file.ts'
import { addressOf } from '../support/mirror-reader.ts'
import { aPostgresMirror } from '../support/postgres/statement.ts'
import { exportedFrom } from '../support/exported-files.ts'

async function aMirrorOfTwo(nights = 1) {
  const mirror = await aMirror(aPostgresMirror())
  for (const organization of ['acme', 'globex'])
    for (let n = 0; n < nights; n += 1) await night(mirror, n, customers(1, 5 + n), { organization })
  const address = addressOf(mirror.file)
  const copied = async () => {
    const copy = await makePrivateCopy(address)
    onTestFinished(() => copy.close())
    return copy.path
  }
  return { mirror, address, copied }
}

test('a private copy knows which customer was forgotten last in each organization, no hash of one, and of runs what the mirror does', async () => {
  const { mirror, address, copied } = await aMirrorOfTwo()
  for (const n of [3, 4]) await mirror.forgetCustomer({ organization: 'acme', ...CLOCKS, id: customerId(n) })
  await (await organizationsOf(address)).retire('globex', CLOCKS)
  const file = await copied()

  const forgotten = rowsOf(file, 'SELECT organization, number, hash FROM forgotten')
  expect(forgotten).toEqual([{ organization: 'acme', number: 2, hash: '' }])
  expect(await findRecorded(file)).toEqual(await findRecorded(address))
})

test('a reader of the changes goes on after the organization of the last ones was forgotten', async () => {
  const { address, copied } = await aMirrorOfTwo(2)
  await (await organizationsOf(address)).forget('globex', CLOCKS)

  expect((await exportedFrom(await copied(), { changesSince: 2 })).done).toMatchObject({ lastSeq: 1 })
})
