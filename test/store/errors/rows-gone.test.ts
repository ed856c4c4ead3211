import { expect, test } from 'vitest'
import type { Mirror } from '../../../src/model/mirror.ts'
import { mirrorOrganization } from '../../../src/sync/mirror-organization.ts'
import { customerId, customers, MINUTE_MS, type SentRecord, START_MS } from '../../support/builders.ts'
import { listedSource, mirroring, namesOf, storedNames } from '../../support/listed-source.ts'
import { onPostgres } from '../../support/mirror-choice.ts'
import { aMirror, tamper, valueOf } from '../../support/mirror-file.ts'

/* Rows that are deleted where no trigger of the mirror notices it, as by a restore of one table or by replication. */

const LIST = customers(1, 45)

test('a run does not end well where customers that it knows from the list are gone, and the next one adds them', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, LIST)
  expect(await night(mirror, 1, LIST)).toMatchObject({ proof: 'proven', unchanged: 45 })
  deleteUnnoticed(mirror, [5, 30])

  const first = await night(mirror, 2, LIST)
  const second = await night(mirror, 3, LIST)

  expect(first).toMatchObject({
    ...{ status: 'failed', proof: 'unproven', missing: 0, removed: 0 },
    error: { code: 'replaced', message: expect.stringContaining('sync again') },
  })
  expect(second).toMatchObject({ status: 'complete', proof: 'proven', inserted: 2, unchanged: 43 })
  expect(storedNames(mirror)).toEqual(namesOf(LIST))
})

test('a run that proves nothing does not end well either', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, LIST)
  deleteUnnoticed(mirror, [5])

  const report = await night(mirror, 1, [...LIST, { id: 'unreadable' }])

  expect(report).toMatchObject({ rejected: 1, error: { code: 'replaced' } })
  expect(valueOf(mirror.file, 'SELECT count(*) FROM lists')).toBe(0)
})

async function night(mirror: Mirror, n: number, list: SentRecord[], organization = 'acme') {
  const now = () => START_MS + n * MINUTE_MS
  return (await mirrorOrganization(mirroring(mirror, listedSource(list), { organization, scan: 'chain', now }))).report
}

function deleteUnnoticed({ file }: Mirror, numbers: readonly number[]) {
  if (onPostgres) tamper(file, 'ALTER TABLE customers DISABLE TRIGGER USER')
  else tamper(file, 'DROP TRIGGER customers_deleted')
  for (const n of numbers) tamper(file, 'DELETE FROM customers WHERE id = ?', customerId(n))
}
