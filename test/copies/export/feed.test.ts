import { expect, test } from 'vitest'
import { exportedFrom } from './exported.ts'
import { CLOCKS, night, organizationsOf } from '../../store/nights.ts'
import { aCustomer, customerId, customers } from '../../support/builders.ts'
import { aMirrorToExport, publishedFrom } from '../../support/full-mirror.ts'
import { aMirror, tamper } from '../../support/mirror-file.ts'
import { aPlan, aSplitPlan, publishAll } from '../../support/publishing.ts'

/** Changes 1 to 4, all of customer 1; retention has deleted those up to 2. */
async function aPrunedMirror(): Promise<string> {
  const mirror = await aMirror()
  for (let n = 0; n <= 4; n += 1) await night(mirror, n, [aCustomer(1, { name: `Name ${n}` }), ...customers(2, 9)])
  tamper(mirror.file, 'DELETE FROM changes WHERE seq <= 2')
  tamper(
    mirror.file,
    `INSERT INTO horizons (organization, pruned_seq, feed_seq, history_from) VALUES ('acme', 2, 2, '2026-01-07 12:00:00.000')`,
  )
  return mirror.file
}

const seqs = async (file: string, changesSince: number) =>
  (await exportedFrom(file, { changesSince })).rows.flatMap(({ seq }) => (typeof seq === 'bigint' ? [Number(seq)] : []))

test('a reader who has read all deleted changes goes on without a gap, and a reader who has not is refused', async () => {
  const file = await aPrunedMirror()

  expect(await seqs(file, 2)).toEqual([3, 4])
  expect(await seqs(file, 4)).toEqual([])
  await expect(exportedFrom(file, { changesSince: 1 })).rejects.toThrow(
    'The changes before 3 were deleted, or undone by a restore. Start again from a copy, and continue from its last seq.',
  )
})

test('a change comes with what it changed, and with the customer as it is now', async () => {
  const { rows } = await exportedFrom(await aMirrorToExport(), { changesSince: 0 })
  const [changed, removed] = rows.filter(({ seq }) => seq !== null)

  expect(changed).toMatchObject({ seq: 1n, change: 'changed', id: customerId(1), is_active: 1n })
  expect(changed).toMatchObject({ name: 'Ada, "Countess"' })
  expect(JSON.parse(String(changed?.['fields']))).toMatchObject({ name: ['Customer 1', 'Ada, "Countess"'] })
  expect(removed).toMatchObject({ seq: 2n, change: 'removed', id: customerId(2), fields: null, is_active: 0n })
})

test('a reader of a copy goes on although the newest changes were forgotten since', async () => {
  const file = await aPrunedMirror()
  tamper(file, 'DELETE FROM changes WHERE seq = 4')
  for (const plan of [aPlan(file), aSplitPlan(file)]) {
    const [copy] = publishAll(plan).copies

    expect(await seqs(copy?.file ?? '', 4)).toEqual([])
    expect((await exportedFrom(copy?.file ?? '')).done).toMatchObject({ lastSeq: 3 })
    await expect(seqs(copy?.file ?? '', 5)).rejects.toThrow('There is no change 5 yet: the last one is 4.')
  }
})

test('an export says which of its organizations are retired, from the mirror and from a copy', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 3))
  await night(mirror, 0, customers(4, 5), { organization: 'globex' })
  await (await organizationsOf(mirror.file)).retire('globex', CLOCKS)
  const expected = [
    { organization: 'acme', retiredAt: null },
    { organization: 'globex', retiredAt: '2026-01-14 02:00:00.000' },
  ]

  for (const file of [mirror.file, publishedFrom(mirror)]) {
    const { facts, rows } = await exportedFrom(file)
    expect(facts?.organizations).toMatchObject(expected)
    expect(rows.length).toBe(3)
  }
})
