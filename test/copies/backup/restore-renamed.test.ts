import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { restoredText } from '../../../src/cli/restore.ts'
import { replacedMirrors } from '../../../src/copies/restore.ts'
import { writeFor } from '../../../src/copies/written-file.ts'
import { openMirror } from '../../../src/store/mirror.ts'
import { night } from '../../store/nights.ts'
import { CLOCKS, organizationsOf } from '../../store/organizations.ts'
import { makeNight } from '../../support/alike-nights.ts'
import { aBackupFile, backUp, restore } from '../../support/backing-up.ts'
import { customerId, customers } from '../../support/builders.ts'
import { aMirror, aMirrorFile, rowsOf, valueOf } from '../../support/mirror-file.ts'

test.each([
  ['another one before the backup', [9], [3]],
  ['the first after the organization was renamed', [], [3]],
  ['one who was new then', [], [12]],
])('customers who were forgotten in a renamed organization stay forgotten: %s', async (_, before, after) => {
  const mirror = aMirrorFile()
  await mirroredOnce(mirror, 'acme')
  await forget(mirror, 'acme', before)
  const { file } = await backUp(mirror, { file: aBackupFile() })
  await rename(mirror)
  await mirroredOnce(mirror, 'acme-eu', customers(1, 12))
  await forget(mirror, 'acme-eu', after)
  const restored = await restore(file, mirror)

  expect(restored).toMatchObject({ forgotten: 1, onlyInBackup: ['acme'] })
  expect(restored.customers).toBe(valueOf(mirror, 'SELECT count(*) FROM customers'))
  const replaced = replacedMirrors(mirror)
  expect(replaced).toEqual([restored.kept])
  for (const n of [...before, ...after]) expect(readFileSync(mirror, 'latin1')).not.toContain(`customer-${n}@example`)
  // To rename it again is what the operator does next.
  await rename(mirror)
  const again = await openMirror(mirror)
  onTestFinished(() => again.close())
  const { report } = await makeNight(again, 20, { list: customers(1, 12), told: { organization: 'acme-eu' } })
  expect(report).toMatchObject({ status: 'complete', received: 12, suppressed: before.length + after.length })
  const left = rowsOf(mirror, 'SELECT id FROM customers').map(({ id }) => id)
  for (const n of [...before, ...after]) expect(left).not.toContain(customerId(n))
  expect(rowsOf(mirror, 'PRAGMA foreign_key_check')).toEqual([])
})

test('an organization of which only hashes are left after a restore can be forgotten, and its name is free again', async () => {
  const mirror = aMirrorFile()
  await mirroredOnce(mirror, 'globex')
  const { file } = await backUp(mirror, { file: aBackupFile() })
  await mirroredOnce(mirror, 'acme-eu', customers(101, 110))
  await forget(mirror, 'acme-eu', [103])
  await restore(file, mirror)
  const organizations = await organizationsOf(mirror)

  await expect(organizations.rename({ from: 'globex', to: 'acme-eu' }, CLOCKS)).rejects.toThrow(/forget acme-eu first/)
  expect(await organizations.list()).toEqual(['acme-eu', 'globex'])
  expect(await organizations.forget('acme-eu', CLOCKS)).toBe(true)
  expect(await organizations.rename({ from: 'globex', to: 'acme-eu' }, CLOCKS)).toMatchObject({ customers: 10 })
})

test('the organizations that only the backup had are named', async () => {
  const mirror = aMirrorFile()
  for (const organization of ['acme', 'globex']) await mirroredOnce(mirror, organization)
  const { file } = await backUp(mirror, { file: aBackupFile() })
  const organizations = await organizationsOf(mirror)
  await organizations.forget('globex', CLOCKS)
  await organizations.close()

  const restored = await restore(file, mirror)

  expect(restoredText(restored)).toMatch(/not in the replaced mirror: globex\. If you renamed or forgot/)
  // Its readers have deleted it, and there is no change that brings it back.
  expect(restored.feedGoesBack).toBe(true)
})

async function mirroredOnce(file: string, organization: string, list = customers(1, 10)): Promise<void> {
  const mirror = await openMirror(file)
  await night(mirror, 0, list, { organization })
  await mirror.close()
}

async function forget(file: string, organization: string, numbers: readonly number[]): Promise<void> {
  const mirror = await openMirror(file)
  for (const n of numbers) await mirror.forgetCustomer({ organization, id: customerId(n), ...CLOCKS })
  await mirror.close()
}

async function rename(file: string): Promise<void> {
  const organizations = await organizationsOf(file)
  await organizations.rename({ from: 'acme', to: 'acme-eu' }, CLOCKS)
  await organizations.close()
}

test('what a killed restore or move left beside the mirror is named', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 5))

  await writeFor(mirror.file, async ({ path }) => {
    expect(replacedMirrors(mirror.file)).toEqual([path])
  })
  expect(replacedMirrors(mirror.file)).toEqual([])
})
