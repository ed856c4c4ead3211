import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Mirror } from '../../src/model/mirror.ts'
import { pageFrom } from '../../src/source/customers-page.ts'
import { type Mirroring, mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { CHAIN, DAY_MS, makeNight, type Night } from '../support/alike-nights.ts'
import { aCustomer, customers, START_MS } from '../support/builders.ts'
import { type Dice, dice } from '../support/dice.ts'
import { mirroring, sourceOf } from '../support/listed-source.ts'
import { aMirror, tamper, valueOf, withReader } from '../support/mirror-file.ts'
import { seeds } from '../support/seeds.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { type Report } from '../../src/model/report.ts'

test('an unchanged list is recognized the next night, with the same result', async () => {
  const list = customers(1, 45)

  const { known } = await expectAlike([{ list }, { list }])

  expect(known).toEqual([5, 5])
})

test('the total of a scan goes through the mirror to the next one', async () => {
  const mirror = await aMirror()
  await makeNight(mirror, 0, { list: customers(1, 45), told: CHAIN })
  const stored = () => JSON.parse(String(valueOf(mirror.file, 'SELECT facts FROM lists')))

  expect(stored()).toEqual({ warnings: [{}], total: 45 })
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

  const names = `SELECT group_concat(name) FROM (SELECT name FROM customers WHERE row_id IN (16, 30) ORDER BY row_id) AS named`
  expect(valueOf(mirror.file, names)).toBe('Customer 16,Customer 30')
})

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

test('any nights give the same mirror, with the list as last read and without it', async () => {
  const drawn = seeds(120, { least: 2, every: 60 })
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

/** Some nights of a list that is edited between them and while it is read, of runs that fail, and of people who meddle. */
function randomNights(random: Dice): Night[] {
  const told: Partial<Mirroring> = {
    ...(random.chance(0.6) ? { scan: 'chain' } : {}),
    concurrency: random.chance(0.5) ? 1 : 3,
    removals: { after: 1 + random.below(2), maxShare: 0.1 },
  }
  const dated = random.chance(0.7)
  const record = (n: number) =>
    aCustomer(n, { created_at: dated ? new Date(START_MS - n * DAY_MS).toISOString() : null })
  let list: unknown[] = Array.from({ length: random.below(60) }, (_, index) => record(index + 1))
  const before: unknown[][] = []
  return Array.from({ length: 3 + random.below(4) }, (): Night => {
    before.push(list)
    list = random.chance(0.15) ? (before[random.below(before.length)] ?? list) : edited(list, record, random)
    const later = random.chance(0.2) ? edited(list, record, random) : list
    const tonight = list
    const change = 1 + random.below(5)
    const night = {
      list: (answered: number) => (answered < change ? tonight : later),
      told: { ...told, ...randomlyTold(random) },
      ...(random.chance(0.1) ? { options: { cap: 7 } } : {}),
      ...randomEnding(random),
    }
    if (random.chance(0.7)) return night
    // After an interruption, windows with forgotten pages are read again, which changes the number of requests.
    const anew = { ...night.told, resumeWithinMs: -1 }
    return { ...night, told: anew, meanwhile: { after: 0, meddle: randomMeddling(random) } }
  })
}

function randomlyTold(random: Dice): Partial<Mirroring> {
  if (random.chance(0.05)) return { pageSize: 5 + random.below(20) }
  return random.chance(0.1) ? { scan: 'plain' } : {}
}

function randomEnding(random: Dice): Partial<Night> {
  const pages = 1 + random.below(6)
  if (random.chance(0.15)) return { stopAfter: pages }
  return random.chance(0.1) ? { failAfter: pages } : {}
}

/** A change by hand between two nights, the same in each mirror. */
function randomMeddling(random: Dice): (mirror: Mirror) => Promise<void> {
  const sql = [
    `UPDATE customers SET name = 'By Hand' WHERE row_id = ?`,
    `UPDATE customers SET extra = '{}', email = NULL WHERE row_id = ?`,
    'DELETE FROM customers WHERE row_id = ? AND row_id NOT IN (SELECT row_id FROM held_rows)',
  ][random.below(5)]
  const row = 1 + random.below(40)
  const approves = random.chance(0.5)
  return async (mirror) => {
    if (sql !== undefined) return tamper(mirror.file, sql, row)
    const [held] = await mirror.listHeldRemovals()
    if (held === undefined) return
    if (approves) await mirror.approveRemovals(held.runId, held.startedAtMs)
    else await mirror.discardRemovals(held.runId)
  }
}

function edited(before: readonly unknown[], record: (n: number) => object, random: Dice): unknown[] {
  const list = [...before]
  const edits = random.chance(0.25) ? 0 : 1 + random.below(4)
  for (let edit = 0; edit < edits; edit += 1) {
    const place = random.below(list.length + 1)
    const n = 1 + random.below(80)
    const changed = { ...record(n), name: `Name ${random.below(3)}` }
    const kinds = [
      () => list.splice(place, 0, record(n)),
      () => list.splice(place, 0, changed),
      () => list.splice(place, 1),
      () => list.splice(place, 1, changed),
      () => list.splice(place, 1, record(place + 1)),
      () => list.splice(place, 1, { ...record(place + 1), name: `Name ${random.below(3)}` }),
      () => list.splice(random.below(list.length + 1), 0, ...list.splice(place, 1)),
      () => list.splice(place, 0, ...list.slice(place, place + 1)),
      () => list.splice(place, 1, { ...record(place + 1), email: [] }),
      () => list.splice(place, 0, { name: 'Nobody' }),
      () => list.splice(place, 1 + random.below(30)),
      () =>
        list.splice(place, 0, ...Array.from({ length: 10 + random.below(20) }, (_, index) => record(90 + n + index))),
    ]
    kinds[random.below(kinds.length)]?.()
  }
  return list
}

/** Plays the nights in a mirror that keeps the list as last read and in one that forgets it, and compares them after each night. */
async function expectAlike(nights: readonly Night[]) {
  const remembering = await aMirror()
  const forgetting = await aMirror()
  const known: number[] = []
  const recognized: number[] = []
  const reports: Report[] = []
  const [{ list, told } = { list: [] }] = nights
  for (const mirror of [remembering, forgetting])
    await makeNight(mirror, -1, told === undefined ? { list } : { list, told })
  for (const [index, night] of nights.entries()) {
    const made = await makeNight(remembering, index, night)
    forgetCustomersOfList(forgetting.file)
    const anew = await makeNight(forgetting, index, night)
    expect({ night: index, ...made.report }).toEqual({ night: index, ...anew.report })
    expect({ night: index, ...contents(remembering) }).toEqual({ night: index, ...contents(forgetting) })
    expect([anew.known, anew.recognized]).toEqual([0, 0])
    known.push(made.known)
    recognized.push(made.recognized)
    reports.push(made.report)
  }
  return { mirror: remembering, known, recognized, reports }
}

/** Forgets how the customers of the list are known again, and keeps their order and their total: these may cost a scan its proof. */
function forgetCustomersOfList(file: string): void {
  const nothing = onPostgres ? `decode(repeat('00', length(marks)), 'hex')` : 'zeroblob(length(marks))'
  tamper(file, `UPDATE lists SET marks = ${nothing}`)
}

/** All public contents of the mirror. */
function contents({ file }: Mirror) {
  return withReader(file, (reader) => ({
    customers: reader.all('SELECT * FROM customers ORDER BY row_id'),
    changes: reader.all('SELECT * FROM changes ORDER BY seq'),
    rejects: reader.all('SELECT * FROM rejects ORDER BY reject_id'),
    runs: reader.all('SELECT * FROM runs ORDER BY id'),
    held: reader.all('SELECT * FROM held_rows ORDER BY row_id'),
  }))
}
