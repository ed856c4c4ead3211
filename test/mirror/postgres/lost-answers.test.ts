import { beforeAll, beforeEach, expect, test } from 'vitest'
import { openDatabase } from '../../../src/mirror/postgres/opening/database.ts'
import { runVerbs } from '../../../src/mirror/postgres/run/run-verbs.ts'
import { savingVerbs } from '../../../src/mirror/postgres/run/saving-verbs.ts'
import type { Database } from '../../../src/mirror/postgres/session.ts'
import { anEnding, aPage, customers, START_MS } from '../../support/builders.ts'
import { breakable, through } from '../../support/breaking-connections.ts'
import { pgliteConnections, startPglite } from '../../support/pglite-connections.ts'
import { anEmptyMirror } from '../../support/postgres/emptied.ts'

let line: ReturnType<typeof breakable>
let database: Database
let organization = ''
let organizations = 0
let isNumberGivenAnew = false

beforeAll(async () => {
  const server = await startPglite()
  line = breakable(pgliteConnections(server))
  const numbersAnew = through(line.connections, async (client, sql, parameters) => {
    const answer = await client.query(sql, parameters)
    if (!isNumberGivenAnew || !sql.startsWith('SELECT pg_xact_status')) return answer
    return { ...answer, rows: [{ status: 'committed' }] }
  })
  const connect = () => numbersAnew
  database = await openDatabase(await anEmptyMirror(), 'write', { connect })
})
beforeEach(() => {
  organizations += 1
  organization = `acme-${organizations}`
  isNumberGivenAnew = false
})

test.each([
  ['before', false],
  ['after', false],
  ['before', true],
  ['after', true],
] as const)(
  'a server that is gone %s each commit, and away for a while: the same calls again double nothing and lose nothing (other transactions got their numbers and were committed: %s)',
  async (when, isGivenAnew) => {
    isNumberGivenAnew = isGivenAnew
    const start = { organization, trigger: 'sync', nowMs: START_MS } as const
    const mirror = { ...runVerbs(database), ...savingVerbs(database) }
    const run = await goneOnce(when, () => mirror.startRun(start))
    const pages = [aPage(1, customers(1, 30)), aPage(2, customers(25, 60))]

    const saved = await goneOnce(when, () => mirror.savePages(run, pages, START_MS))
    const ending = anEnding()
    await goneOnce(when, () => mirror.finishRun(run, ending, START_MS))

    expect(saved.records).toMatchObject({ received: 66, inserted: 60, duplicates: 6 })
    expect(run).toMatchObject({ pages: 2, records: { received: 66, inserted: 60, duplicates: 6 } })
    expect(run.seen.size).toBe(60)
    expect(
      await rows('SELECT status, pages, received, inserted, duplicates FROM runs WHERE organization = $1'),
    ).toEqual([{ status: 'complete', pages: 2, received: 66, inserted: 60, duplicates: 6 }])
    expect(await rows('SELECT count(*) AS rows, max(row_id) AS last FROM customers WHERE organization = $1')).toEqual([
      { rows: 60, last: 60 },
    ])
    expect(await rows('SELECT 1 FROM leases WHERE organization = $1')).toEqual([])
  },
)

/** The answer of a call that is made again with the same arguments, after the server was gone at its commit and one question later. */
async function goneOnce<Result>(when: 'before' | 'after', call: () => Promise<Result>): Promise<Result> {
  line.breakAt('COMMIT', when)
  line.breakAt('SELECT pg_xact_status', 'before')
  await expect(call()).rejects.toMatchObject({ code: 'mirror-unreachable' })
  return await call()
}

function rows(sql: string) {
  return database.read((session) => session.all(sql, organization))
}
