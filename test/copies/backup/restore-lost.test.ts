import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CLOCKS, night, organizationsOf } from '../../store/nights.ts'
import { makeNight } from '../../support/alike-nights.ts'
import { aBackupFile, backUp, lose, restore } from '../../support/backing-up.ts'
import { customerId, customers } from '../../support/builders.ts'
import { aMirror, aMirrorFile, rowsOf, valueOf } from '../../support/mirror-file.ts'
import { replacedMirrors } from '../../../src/copies/older-files.ts'

const LAST = 'SELECT (SELECT max(seq) FROM changes) AS seq, (SELECT max(id) FROM runs) AS run'

test.each([
  ['is gone', async (mirror: string) => lose(mirror)],
  ['is damaged beyond reading', async (mirror: string) => writeFileSync(mirror, 'x'.repeat(5000))],
  ['was begun anew after the loss', beginAnew],
])('where the mirror %s, no number that it may have given out is given out again', async (_, happened) => {
  const mirror = aMirrorFile()
  await mirrored(mirror, [10, 11])
  const { file } = await backUp(mirror, { file: aBackupFile() })
  await mirrored(mirror, [12, 14, 16])
  const [before = {}] = rowsOf(mirror, LAST)
  await happened(mirror)
  await restore(file, mirror, { force: true })
  const horizon = valueOf(mirror, `SELECT feed_seq FROM horizons WHERE organization = 'acme'`)
  await mirrored(mirror, [20])
  const [after = {}] = rowsOf(
    mirror,
    `SELECT min(seq) AS seq, max(run_id) AS run FROM changes WHERE seq > ${Number(horizon)}`,
  )

  expect(Number(horizon)).toBeGreaterThan(Number(before['seq']))
  expect(Number(after['seq'])).toBe(Number(horizon) + 1)
  expect(Number(after['run'])).toBeGreaterThan(Number(before['run']))
})

test('where the mirror was begun anew, those forgotten before the backup stay forgotten, and of the others those in the backup', async () => {
  const mirror = aMirrorFile()
  await mirrored(mirror, [10])
  await forget(mirror, 'acme', [3])
  const { file } = await backUp(mirror, { file: aBackupFile() })
  await beginAnew(mirror)
  await forget(mirror, 'acme', [5, 15])
  const restored = await restore(file, mirror)
  const { report } = await makeNight(await aMirror(mirror), 20, { list: customers(1, 12) })
  const left = rowsOf(mirror, 'SELECT id FROM customers').map(({ id }) => id)

  expect(restored).toMatchObject({ forgotten: 1, unrecognized: 1 })
  expect(report).toMatchObject({ status: 'complete', received: 12, suppressed: 2 })
  expect(left).not.toContain(customerId(3))
  expect(left).not.toContain(customerId(5))
})

test.each<[when: string, organization: string, before: number[], after: number[]]>([
  ['after the backup', 'acme', [], [3, 7]],
  ['after the organization was renamed, and another one before the backup', 'acme-eu', [9], [3]],
  ['although new when the organization was renamed', 'acme-eu', [], [12]],
])('customers who were forgotten stay so, and nothing of them is in the file: %s', async (_, name, before, after) => {
  const mirror = aMirrorFile()
  await mirrored(mirror, [10])
  await forget(mirror, 'acme', before)
  const { file } = await backUp(mirror, { file: aBackupFile() })
  if (name !== 'acme') await rename(mirror)
  await mirrored(mirror, [12], name)
  await forget(mirror, name, after)
  const restored = await restore(file, mirror)

  expect(restored).toMatchObject({ forgotten: after.length, onlyInBackup: name === 'acme' ? [] : ['acme'] })
  expect(restored.customers).toBe(valueOf(mirror, 'SELECT count(*) FROM customers'))
  expect(replacedMirrors(mirror)).toEqual([restored.kept])
  for (const n of [...before, ...after]) expect(readFileSync(mirror, 'latin1')).not.toContain(`customer-${n}@example`)
  // To rename it again is what the operator does next.
  if (name !== 'acme') await rename(mirror)
  const list = customers(1, 12)
  const { report } = await makeNight(await aMirror(mirror), 20, { list, told: { organization: name } })
  expect(report).toMatchObject({ status: 'complete', received: 12, suppressed: before.length + after.length })
  const left = rowsOf(mirror, 'SELECT id FROM customers').map(({ id }) => id)
  for (const n of [...before, ...after]) expect(left).not.toContain(customerId(n))
  expect(rowsOf(mirror, 'PRAGMA foreign_key_check')).toEqual([])
})

/** A night for each length of the list. */
async function mirrored(file: string, lengths: readonly number[], organization = 'acme'): Promise<void> {
  const mirror = await aMirror(file)
  for (const [n, length] of lengths.entries()) await night(mirror, n, customers(1, length), { organization })
  await mirror.close()
}

async function beginAnew(mirror: string): Promise<void> {
  lose(mirror)
  await mirrored(mirror, [20])
}

async function forget(file: string, organization: string, numbers: readonly number[]): Promise<void> {
  const mirror = await aMirror(file)
  for (const n of numbers) await mirror.forgetCustomer({ organization, id: customerId(n), ...CLOCKS })
  await mirror.close()
}

async function rename(file: string): Promise<void> {
  const organizations = await organizationsOf(file)
  await organizations.rename({ from: 'acme', to: 'acme-eu' }, CLOCKS)
  await organizations.close()
}
