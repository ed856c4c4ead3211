import { expect, test } from 'vitest'
import { aMirrorOf, CLOCKS, type Night, night, organizationsOf, quickRun, scanEnding } from '../../store/nights.ts'
import { aCustomer, aPage, customerId, customers, START_MS, DAY_MS, HOUR_MS } from '../../support/builders.ts'
import { aCopy, activeIn, expectJoined, exported, exportedFrom, listOf } from '../../support/exported-files.ts'
import { aMirror, mirrorPages, rowsOf, tamper } from '../../support/mirror-file.ts'
import { someOf } from '../../support/seeds.ts'
import { publishedFrom } from '../../support/full-mirror.ts'
import { aMirrorOfTwo, aPlan, aSplitPlan, publishAll } from '../../support/publishing.ts'

test('a copy and the changes since make the customers of now, whichever night the copy is of, or quick run after it', async () => {
  const mirror = await aMirror()
  const copies: string[] = []
  const grades = ['proven', 'settled', 'settled', 'unproven', 'settled', 'settled'] as const
  const confirmed = customers(1, 9).map(({ id }) => String(id))
  for (const [n, proof] of grades.entries()) {
    await night(mirror, n, listOf(n), { proof, confirmed })
    copies.push(await exported(mirror))
    const came = [aCustomer(10, { name: `Renamed ${n}` }), aCustomer(70 + n), ...(n === 3 ? [aCustomer(3)] : [])]
    await quickRun(mirror, n, came, { gone: [20 + n, 21 + n] })
    copies.push(await exported(mirror))
  }
  const changes = rowsOf(mirror.file, 'SELECT DISTINCT change FROM changes ORDER BY 1')
  expect(changes.map(({ change }) => change)).toEqual(['added', 'changed', 'removed', 'returned'])
  for (const copy of someOf(copies, { every: 6 })) await expectJoined(mirror, copy)
})

type Play = [n: number, list: readonly unknown[], told?: Night]
const globex = { organization: 'globex' }
const PARTLY = { ...globex, proof: 'unproven', ending: { status: 'failed', readToEnd: false } } as const
const FIRST_OF_GLOBEX = customers(101, 110)

test.each<[what: string, before: Play[], after: Play[]]>([
  [
    'an organization that was first read after the copy, and one of which a part was saved before',
    [
      [0, listOf(0)],
      [0, customers(101, 120), PARTLY],
      [1, listOf(1)],
    ],
    [
      [2, customers(101, 140), globex],
      [2, customers(201, 205), { organization: 'initech' }],
      [3, listOf(2)],
    ],
  ],
  [
    'a clock that was set back after the copy',
    [
      [8, listOf(0)],
      [9, listOf(1)],
    ],
    [
      [2, listOf(2)],
      [3, FIRST_OF_GLOBEX, globex],
    ],
  ],
  ['a copy that was taken before there was any change', [[0, listOf(0)]], [[1, FIRST_OF_GLOBEX, globex]]],
])('a copy and the changes since make the customers of now, with %s', async (_, before, after) => {
  const mirror = await aMirror()
  for (const play of before) await night(mirror, ...play)
  const copy = await exported(mirror)
  for (const play of after) await night(mirror, ...play)

  await expectJoined(mirror, copy)
})

test.each([
  ['set back meanwhile', 9 * DAY_MS, [2 * DAY_MS]],
  ['set back in the night after', 9 * DAY_MS, [9 * DAY_MS + 3 * HOUR_MS, 2 * DAY_MS]],
  ['three hours behind that of the other machine', 9 * DAY_MS - 3 * HOUR_MS, [9 * DAY_MS]],
])(
  'a copy and the changes since make the customers of now, with an organization whose first list was read while the copy was taken, by a clock that was %s',
  async (_, startedMs, [endedMs = 0, nextMs]) => {
    const mirror = await aMirrorOf(listOf(0))
    let monotonicMs = 0
    const start = { ...globex, trigger: 'sync', monotonicMs: () => monotonicMs } as const
    const first = await mirror.startRun({ ...start, nowMs: START_MS + startedMs })
    await mirror.savePages(first, [aPage(1, FIRST_OF_GLOBEX)], START_MS + startedMs)
    await mirrorPages(mirror, [listOf(1)], { atMs: START_MS + 9 * DAY_MS + HOUR_MS, ending: scanEnding({}) })
    const copy = await exported(mirror)
    monotonicMs = 3 * HOUR_MS
    await mirror.finishRun(first, scanEnding({}), START_MS + endedMs)
    if (nextMs !== undefined) await night(mirror, nextMs / DAY_MS, FIRST_OF_GLOBEX, globex)

    await expectJoined(mirror, copy)
  },
)

test('all changes make the customers of now of no copy', async () => {
  const mirror = await aMirrorOf(listOf(0), listOf(1), listOf(2))
  await night(mirror, 3, FIRST_OF_GLOBEX, globex)
  const all = await aCopy(await exported(mirror, { organizations: ['globex'] }))
  await all.apply(await exported(mirror, { changesSince: 0 }))

  expect(await all.rows()).toEqual(activeIn(mirror))
})

test('what was deleted from the mirror itself is found by the documented check', async () => {
  const mirror = await aMirrorOf(listOf(0))
  const copy = await aCopy(await exported(mirror))
  tamper(mirror.file, 'DELETE FROM customers WHERE id = ?', customerId(1))
  const changes = await exported(mirror, { changesSince: copy.lastSeq })
  await copy.apply(changes)

  expect(await copy.differing(changes)).toEqual([{ organization: 'acme', active_customers: '56', customers: '57' }])
})

/** Changes 1 to 4, all of customer 1; retention has deleted those up to 2. */
async function aPrunedMirror(): Promise<string> {
  const renamed = (n: number) => [aCustomer(1, { name: `Name ${n}` }), ...customers(2, 9)]
  const mirror = await aMirrorOf(...[0, 1, 2, 3, 4].map(renamed))
  tamper(mirror.file, 'DELETE FROM changes WHERE seq <= 2')
  const columns = 'organization, pruned_seq, feed_seq, history_from'
  tamper(mirror.file, `INSERT INTO horizons (${columns}) VALUES ('acme', 2, 2, '2026-01-07 12:00:00.000')`)
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
  const mirror = await aMirrorOfTwo()
  await (await organizationsOf(mirror.file)).retire('globex', CLOCKS)
  const expected = [
    { organization: 'acme', retiredAt: null },
    { organization: 'globex', retiredAt: '2026-01-14 02:00:00.000' },
  ]

  for (const file of [mirror.file, publishedFrom(mirror)]) {
    const { facts, rows } = await exportedFrom(file)
    expect(facts?.organizations).toMatchObject(expected)
    expect(rows.length).toBe(5)
  }
})
