import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Mirror } from '../../src/store/mirror.ts'
import { type Mirroring } from '../../src/sync/mirror-organization.ts'
import { CHAIN, DAY_MS, expectAlike, makeNight, type Night } from '../support/alike-nights.ts'
import { aCustomer, customers, START_MS } from '../support/builders.ts'
import { type Dice, dice } from '../support/dice.ts'
import { aMirror, tamper, valueOf } from '../support/mirror-file.ts'
import { seeds } from '../support/seeds.ts'

test('an unchanged list is recognized the next night, with the same result', async () => {
  const list = customers(1, 45)

  const { known } = await expectAlike([{ list }, { list }])

  expect(known).toEqual([5, 5])
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

test('however many kinds of oddities a list has, a customer that is recognized has its own', async () => {
  const unknown = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`field ${n}`, 1]))
  const list = Array.from({ length: 300 }, (_, n) => aCustomer(n + 1, unknown(n)))
  const told = { scan: 'chain', pageSize: 100 } as const

  const { recognized } = await expectAlike([{ list, told }])

  expect(recognized[0]).toBeGreaterThan(200)
})

test('a customer who changes back between two windows is compared again, and the next night too', async () => {
  const list = customers(1, 45)
  const renamed = [...customers(1, 10, { name: 'New' }), ...list.slice(10)]

  const { mirror } = await expectAlike([
    { list, told: CHAIN },
    { list: (answered) => (answered < 1 ? renamed : list), told: CHAIN },
    { list, told: CHAIN },
  ])

  expect(valueOf(mirror.file, `SELECT count(*) FROM customers WHERE name = 'New'`)).toBe(0)
})

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
