import { beforeAll, beforeEach, expect, test } from 'vitest'
import { organizationsIn } from '../../../src/store/organizations.ts'
import type { Database } from '../../../src/store/port/postgres-connections.ts'
import { text } from '../../../src/store/port/sql.ts'
import { mirrorOf, openDatabase } from '../../../src/store/postgres/open-database.ts'
import { anEnding, aPage, customerId, customers, START_MS } from '../../support/builders.ts'
import { mirrorPages } from '../../support/mirror-file.ts'
import { anEmptyMirror, breakable, pgliteConnections, startPglite } from '../../support/pglite-connections.ts'
import { someOf } from '../../support/seeds.ts'

let line: ReturnType<typeof breakable>
let database: Database
let organization = ''
let organizations = 0

beforeAll(async () => {
  line = breakable(pgliteConnections(await startPglite()))
  const connect = () => line.connections
  database = await openDatabase(await anEmptyMirror(), 'write', connect)
})
beforeEach(() => {
  organizations += 1
  organization = `acme-${organizations}`
})

test.each(['before', 'after'] as const)('gone %s each commit, a server doubles and loses nothing', async (when) => {
  const start = { organization, trigger: 'sync', nowMs: START_MS } as const
  const mirror = mirrorOf(database)
  const run = await goneOnce(when, () => mirror.startRun(start))
  const pages = [aPage(1, customers(1, 30)), aPage(2, customers(25, 60))]

  const saved = await goneOnce(when, () => mirror.savePages(run, pages, START_MS))
  const ending = anEnding()
  await goneOnce(when, () => mirror.finishRun(run, ending, START_MS))

  expect(saved.records).toMatchObject({ received: 66, inserted: 60, duplicates: 6 })
  expect(run).toMatchObject({ pages: 2, records: { received: 66, inserted: 60, duplicates: 6 } })
  expect(run.seen.size).toBe(60)
  expect(await rows('SELECT status, pages, received, inserted, duplicates FROM runs WHERE organization = $1')).toEqual([
    { status: 'complete', pages: 2, received: 66, inserted: 60, duplicates: 6 },
  ])
  const stored = await rows('SELECT count(*) AS rows, max(row_id) AS last FROM customers WHERE organization = $1')
  expect(stored).toEqual([{ rows: 60, last: 60 }])
  expect(await rows('SELECT 1 FROM leases WHERE organization = $1')).toEqual([])
})

const CLOCKS = { nowMs: START_MS, monotonicMs: 1 }
const ofAcme = (n: number) => ({ organization: 'acme', id: customerId(n), ...CLOCKS })
const VERBS: [string, (database: Database) => Promise<unknown>][] = [
  ['forget a customer', (there) => mirrorOf(there).forgetCustomer(ofAcme(1))],
  ['readmit one', (there) => mirrorOf(there).readmitCustomer(ofAcme(3))],
  ['forget an organization', (there) => organizationsIn({ ...there, purge: async () => true }).forget('acme', CLOCKS)],
  ['rename', (there) => organizationsIn(there).rename({ from: 'acme', to: 'birch' }, CLOCKS)],
  ['retire', (there) => organizationsIn(there).retire('acme', CLOCKS)],
  ['approve removals', (there) => mirrorOf(there).approveRemovals(2, START_MS)],
  ['discard removals', (there) => mirrorOf(there).discardRemovals(2)],
]

test.each(someOf(VERBS, { every: 4 }))(
  'a request to %s is not reported as done where the server lost it at the commit, and is where the answer was lost alone',
  async (_, verb) => {
    const there = await aFilledMirror()
    const before = await contents(there)
    line.breakAt('COMMIT', 'before')
    await expect(verb(there)).rejects.toMatchObject({ code: 'gone' })
    expect(await contents(there)).toEqual(before)

    line.breakAt('COMMIT', 'after')
    await verb(there)
    expect(await contents(there)).not.toEqual(before)
  },
)

/** A mirror with something for each verb: run 2 holds two removals, and one customer is forgotten. */
async function aFilledMirror(): Promise<Database> {
  const there = await openDatabase(await anEmptyMirror(), 'write', () => line.connections)
  const mirror = mirrorOf(there)
  const removals = { rule: { after: 2, maxShare: 0.1 }, confirmed: new Set<string>() }
  const ending = { proof: 'proven', reasons: [], removals } as const
  for (const list of [customers(1, 3), []]) await mirrorPages(mirror, [list], { ending })
  await mirror.forgetCustomer(ofAcme(3))
  return there
}

function contents(there: Database) {
  const tables = ['customers', 'changes', 'held_rows', 'forgotten', 'retired_organizations', 'runs']
  return there.read((session) => Promise.all(tables.map((table) => session.all(text(`SELECT * FROM ${table}`)))))
}

/** The answer of a call that is made again with the same arguments, after the server was gone at its commit and one question later. */
async function goneOnce<Result>(when: 'before' | 'after', call: () => Promise<Result>): Promise<Result> {
  line.breakAt('COMMIT', when)
  line.breakAt('INSERT INTO commits', 'before')
  await expect(call()).rejects.toMatchObject({ code: 'gone' })
  return await call()
}

function rows(words: string) {
  return database.read((session) => session.all(text(words.replace('$1', `'${organization}'`))))
}
