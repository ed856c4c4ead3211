import type { Mirror } from '../../src/model/mirror.ts'
import { expect, test } from 'vitest'
import { CHAIN, DAY_MS, expectAlike } from '../support/alike-nights.ts'
import { aCustomer, customers, START_MS } from '../support/builders.ts'
import { valueOf } from '../support/mirror-file.ts'

test.each([
  ['newcomers at its top', (list: unknown[]) => [...customers(101, 135), ...list]],
  ['a part of its beginning gone', (list: unknown[]) => list.slice(25)],
  ['its last customers moved to its top', (list: unknown[]) => [...list.slice(-15), ...list.slice(0, -15)]],
])('in a list with %s, in which every customer moved by pages, unchanged records are recognized', async (_, edit) => {
  const list = customers(1, 90)
  const told = { scan: 'chain', removals: { after: 2, maxShare: 0.9 } } as const

  const { reports, recognized } = await expectAlike([
    { list, told },
    { list: edit(list), told },
    { list: edit(list), told },
  ])

  expect(recognized[1]).toBeGreaterThan(50)
  expect(reports[1]?.updated).toBe(0)
})

test('an id that is listed twice on a page, first with a new value and then as before, is stored with the new one', async () => {
  const [before, after] = [aCustomer(1), aCustomer(1, { name: 'Renamed' })]

  await expectAlike([
    { list: [before] },
    { list: [after, before] },
    { list: [before, after] },
    { list: [after, before] },
  ])
})

test('a page that is read twice in a run in which its customers changed does not contradict itself', async () => {
  // Without dates, only a list at rest is proven, so a list that grew is read again from its beginning.
  const list = customers(1, 45, { created_at: null })
  const changed = list.map((record) => ({ ...record, name: 'Renamed' }))
  const growing = (answered: number) => (answered < 4 ? changed : [...changed, aCustomer(46, { created_at: null })])

  const { reports } = await expectAlike([
    { list, told: CHAIN },
    { list: growing, told: CHAIN },
    { list: growing(9), told: CHAIN },
  ])

  expect(reports[1]?.duplicates).toBeGreaterThan(30)
})

test('a customer that changed on its way between two pages is followed there and back', async () => {
  const [before, after] = [aCustomer(10), aCustomer(10, { name: 'Renamed' })]
  const early = [...customers(1, 9), before, ...customers(11, 19)]
  const late = [...customers(1, 9), ...customers(11, 19), after]

  const { mirror } = await expectAlike([{ list: early }, { list: late }, { list: early }, { list: late }])

  expect(valueOf(mirror.file, 'SELECT count(*) FROM changes')).toBe(3)
})

test('an id on two known pages, one of which changed for a night, has the same result', async () => {
  const list = [...customers(1, 10), ...customers(11, 19), aCustomer(1), ...customers(20, 25)]
  const changed = [aCustomer(1, { name: 'Renamed' }), ...list.slice(1)]

  const { reports } = await expectAlike([{ list }, { list: changed }, { list: changed }, { list }, { list }])

  expect(reports.map(({ warnings }) => warnings.conflicting_duplicate ?? 0)).toEqual([0, 1, 1, 0, 0])
})

test('removals approved while the next run reads: a customer it still lists has returned', async () => {
  const told = CHAIN
  const approve = async (mirror: Mirror) =>
    void (await mirror.approveRemovals(await heldRun(mirror), START_MS + 2 * DAY_MS))
  const list = customers(1, 60)

  await expectAlike([
    { list, told },
    { list: customers(1, 30), told },
    { list, told, meanwhile: { after: 2, meddle: approve } },
  ])
})

test('held removals without other changes, approved the same day: the same list returns all customers', async () => {
  const list = customers(1, 60)
  const approve = async (mirror: Mirror) =>
    void (await mirror.approveRemovals(await heldRun(mirror), START_MS + 2 * DAY_MS))

  const { reports } = await expectAlike([
    { list, told: CHAIN },
    { list, told: CHAIN },
    { list: customers(1, 30), told: CHAIN, meanwhile: { after: 1, meddle: async () => {} } },
    { list, told: CHAIN, meanwhile: { after: 0, meddle: approve } },
    { list, told: CHAIN },
  ])

  expect(reports[3]).toMatchObject({ returned: 30 })
})

test.each([
  ['a trial of two pages', { pageLimit: 2 }, {}],
  ['a run with pages of another size', { pageSize: 20 }, {}],
  ['a run that is given smaller pages', {}, { cap: 7 }],
  ['a chain', { scan: 'chain' }, {}],
] as const)(
  'nights before and after %s, with a customer that changes back and forth, have the same result',
  async (_, told, options) => {
    const list = customers(1, 60)
    const changed = list.toSpliced(44, 1, aCustomer(45, { name: 'Renamed' }))

    await expectAlike([{ list }, { list: changed, told, options }, { list }, { list: changed }, { list }])
  },
)

test('a record that becomes a reject and valid again, with a change and without, has the same result', async () => {
  const list = customers(1, 25)
  const bad = list.toSpliced(12, 1, aCustomer(13, { email: [] }))
  const mended = list.toSpliced(12, 1, aCustomer(13, { name: 'Renamed' }))

  await expectAlike([{ list }, { list: bad }, { list: bad }, { list }, { list }, { list: bad }, { list: mended }])
})

test('the warnings of a record are counted again every night', async () => {
  const odd = [
    aCustomer(11, { email: 'nobody' }),
    aCustomer(12, { name: 7, note: 'x' }),
    aCustomer(13, { phone: undefined }),
  ]
  const list = [...customers(1, 10), ...odd, ...customers(14, 30)]

  const { reports, known } = await expectAlike([{ list }, { list }, { list: list.toSpliced(15, 1) }])

  expect(known).toEqual([3, 3, 3])
  expect(reports[1]?.warnings).toEqual({ odd_email: 1, coerced_to_text: 1, unknown_field: 1, missing_field: 1 })
})

test('two organizations with the same customers are each remembered on their own', async () => {
  const list = customers(1, 20)
  const changed = list.toSpliced(4, 1, aCustomer(5, { name: 'Renamed' }))
  const globex = { organization: 'globex' }

  // So many customers known elsewhere would be taken for a wrong key, had they not been its own before.
  await expectAlike([
    { list: customers(21, 40), told: globex },
    { list: customers(21, 41), told: globex },
    { list },
    { list: [...customers(21, 40), ...list], told: globex },
    { list: changed },
    { list: [...customers(21, 40), ...list], told: globex },
    { list },
  ])
})

test('a page read twice in a stopped run, in two sizes with equal answers, is continued unchanged', async () => {
  const told = { scan: 'chain', pageSize: 17, concurrency: 1 } as const
  const options = { cap: 7 }
  const undated = customers(1, 9, { created_at: null })
  const grown = (answered: number) => (answered < 2 ? undated.slice(0, 8) : [...customers(10, 12), ...undated.slice(3)])

  await expectAlike([
    { list: undated, told, options },
    { list: grown, told, options, stopAfter: 4 },
    { list: grown(9), told, options },
    { list: grown(9), told, options },
  ])
})

async function heldRun(mirror: Mirror): Promise<number> {
  const [held] = await mirror.listHeldRemovals()
  return held?.runId ?? 0
}
