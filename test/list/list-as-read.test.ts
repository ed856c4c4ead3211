import type { Mirror } from '../../src/store.ts'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { mirrorOrganization } from '../../src/mirror-organization.ts'
import { pageFrom } from '../../src/source/customers-page.ts'
import { DAY_MS, expectAlike, makeNight } from '../support/alike-nights.ts'
import { aCustomer, customers, START_MS } from '../support/builders.ts'
import { dice } from '../support/dice.ts'
import { sourceOf } from '../support/listed-source.ts'
import { aMirror, tamper, valueOf } from '../support/mirror-file.ts'
import { mirroring } from '../support/mirroring.ts'
import { randomNights } from '../support/random-nights.ts'
import { seeds } from '../support/seeds.ts'

const CHAIN = { scan: 'chain', concurrency: 1 } as const

test('an unchanged list is recognized the next night, with the same result', async () => {
  const list = customers(1, 45)

  const { known } = await expectAlike([{ list }, { list }])

  expect(known).toEqual([5, 5])
})

test('what a scan knows of the order goes through the mirror to the next scan', async () => {
  const mirror = await aMirror()
  await makeNight(mirror, 0, { list: customers(1, 45), told: CHAIN })
  const stored = () => JSON.parse(String(valueOf(mirror.file, 'SELECT order_facts FROM lists')))
  expect(stored()).toMatchObject({ overlap: 2 })
  tamper(mirror.file, `UPDATE lists SET order_facts = '{"overlap":7}'`)

  await makeNight(mirror, 1, { list: customers(1, 46), told: CHAIN })

  // It begins with 7, and at rest each window needs a little less.
  expect(stored()).toMatchObject({ overlap: 5 })
})

test('a customer who changes while a page is read twice is compared again the next night', async () => {
  const before = customers(1, 45)
  const after = before
    .filter((_, place) => place !== 20)
    .map((record, place) => (place === 2 ? { ...record, name: 'New' } : record))
  const mirror = await aMirror()
  for (const [night, list] of [(answered: number) => (answered < 1 ? before : after), () => after].entries()) {
    let answered = 0
    const source = sourceOf(async (window) => {
      const rows = list(answered++)
      const { page, size } = window
      const meta = { current_page: page, per_page: size, total: rows.length }
      const text = JSON.stringify({ success: true, data: rows.slice(size * (page - 1), size * page), meta })
      const facts = { headers: {}, sentMs: 0, answeredMs: 0, monotonicAnsweredMs: 0 }
      return pageFrom({ ...facts, status: 200, body: Buffer.from(text), text: '' }, window, 'acme')
    })
    const now = () => START_MS + night * DAY_MS
    const { report } = await mirrorOrganization(mirroring(mirror, source, { ...CHAIN, now }))
    expect(report).toMatchObject({ proof: 'proven', updated: night })
  }

  expect(valueOf(mirror.file, `SELECT name FROM customers WHERE row_id = 3`)).toBe('New')
})

test('a page without customers is nothing to know again, however its list is written', async () => {
  const mirror = await aMirror()
  const proofs: string[] = []
  for (const [night, total] of [0, 0, 0, 1].entries()) {
    const text = `{"success":true,"data":[ ],"meta":{"current_page":1,"per_page":10,"total":${total},"last_page":1}}`
    const answer = {
      status: 200,
      body: Buffer.from(text),
      text: '',
      headers: {},
      sentMs: 0,
      answeredMs: 0,
      monotonicAnsweredMs: 0,
    }
    const source = sourceOf(async (window) => pageFrom(answer, window, 'acme'))
    const now = () => START_MS + night * DAY_MS
    const { report } = await mirrorOrganization(mirroring(mirror, source, { ...CHAIN, now }))
    proofs.push(report.proof)
  }

  expect(proofs).toEqual(['proven', 'proven', 'proven', 'unproven'])
  expect(valueOf(mirror.file, 'SELECT COUNT(*) FROM list_windows')).toBe(0)
})

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

test('a customer that has changed, or was changed by hand, is not known by its record of before, wherever that comes again', async () => {
  const list = customers(1, 60)
  const moved = [...customers(101, 125), ...list]
  const renamed = moved.with(40, aCustomer(16, { name: 'Renamed' }))
  const edit = async ({ file }: Mirror) => tamper(file, `UPDATE customers SET name = 'By Hand' WHERE row_id = 30`)
  const told = CHAIN
  const mirror = await aMirror()

  for (const night of [-1, 0]) await makeNight(mirror, night, { list, told })
  await makeNight(mirror, 1, { list: renamed, told, meanwhile: { after: 2, meddle: edit } })
  expect(valueOf(mirror.file, `SELECT name FROM customers WHERE row_id = 16`)).toBe('Renamed')
  await makeNight(mirror, 2, { list, told })

  expect(valueOf(mirror.file, `SELECT group_concat(name) FROM customers WHERE row_id IN (16, 30)`)).toBe(
    'Customer 16,Customer 30',
  )
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

test('a rejected record beside its unchanged customer gives the same result of the scan', async () => {
  const list = customers(1, 5)

  await expectAlike([
    { list, told: CHAIN },
    { list: [...list.slice(0, 4), aCustomer(1, { email: [] })], told: CHAIN },
  ])
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

test.each(['fails', 'is stopped'])(
  'a page as before a run that %s is read again where that run wrote a customer',
  async (how) => {
    const [before, after] = [aCustomer(25), aCustomer(25, { name: 'Renamed' })]
    const list = [...customers(1, 24), before]
    const one = { told: { concurrency: 1 } }
    const ending = how === 'fails' ? { failAfter: 1 } : { stopAfter: 1 }

    const { mirror, known } = await expectAlike([
      { list, ...one },
      { list: [after, ...customers(1, 24)], ...one, ...ending },
      { list, ...one },
    ])

    expect(valueOf(mirror.file, 'SELECT count(*) FROM changes')).toBe(2)
    expect(known[2]).toBe(2)
  },
)

test('a customer that is missing, and one that is removed, come back on a page as before', async () => {
  const [list, without] = [customers(1, 40), customers(1, 30)]
  const told = { scan: 'chain', pageSize: 100 } as const
  const present = { list, told }
  const absent = { list: without, told }

  const { reports } = await expectAlike([present, absent, present, present, absent, absent, present, present])

  expect(reports.map(({ missing, removed, returned }) => [missing, removed, returned])).toEqual([
    [0, 0, 0],
    [10, 0, 0],
    [0, 0, 0],
    [0, 0, 0],
    [10, 0, 0],
    [0, 10, 0],
    [0, 0, 10],
    [0, 0, 0],
  ])
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

  expect(known).toEqual([3, 3, 1])
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

test.each(['missing_since', 'removed_at'])(
  'a customer whose %s was changed by hand is found on a known page',
  async (column) => {
    const list = customers(1, 20)
    const sql = `UPDATE customers SET ${column} = first_seen_at WHERE row_id = 15`
    const meanwhile = { after: 0, meddle: async ({ file }: Mirror) => tamper(file, sql) }

    const { reports } = await expectAlike([{ list }, { list, meanwhile }, { list }])

    expect(reports[1]?.updated).toBe(1)
  },
)

test('the next run repairs a change by hand that was made while a changed page was read', async () => {
  const list = [aCustomer(1, { name: 'Renamed' }), ...customers(2, 10)]
  const edit = async ({ file }: Mirror) =>
    tamper(file, `UPDATE customers SET name = 'By Hand' WHERE name = 'Customer 5'`)
  const mirror = await aMirror()

  for (const night of [-1, 0]) await makeNight(mirror, night, { list: customers(1, 10) })
  await makeNight(mirror, 1, { list, meanwhile: { after: 1, meddle: edit } })
  for (const night of [2, 3]) await makeNight(mirror, night, { list })

  expect(valueOf(mirror.file, `SELECT count(*) FROM customers WHERE name = 'By Hand'`)).toBe(0)
})

test('any nights give the same mirror, with the list as last read and without it', async () => {
  const drawn = seeds(120, { least: 4, every: 30 })
  let [pagesKnown, recordsRecognized] = [0, 0]
  await fc.assert(
    fc.asyncProperty(fc.nat(), async (seed) => {
      const { known, recognized } = await expectAlike(randomNights(dice(seed)))
      pagesKnown += known.reduce((sum, pages) => sum + pages, 0)
      recordsRecognized += recognized.reduce((sum, rows) => sum + rows, 0)
    }),
    { numRuns: drawn },
  )
  expect(pagesKnown).toBeGreaterThan(0.8 * drawn)
  expect(recordsRecognized).toBeGreaterThan(0.8 * drawn)
})

async function heldRun(mirror: Mirror): Promise<number> {
  const [held] = await mirror.listHeldRemovals()
  return held?.runId ?? 0
}
