import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { sqliteSession } from '../../../src/store/port/sqlite-store.ts'
import { FIRST_TABLE, type Place, rewriteSome } from '../../../src/store/privacy/rewrite-hidden.ts'
import { hiddenValues } from '../../../src/privacy/hidden-values.ts'
import { NOTHING_HIDDEN, privacyPolicy } from '../../../src/privacy/privacy-policy.ts'
import type { Run } from '../../../src/model/run.ts'
import { START_MS } from '../../support/builders.ts'
import { aFullMirror } from '../../support/full-mirror.ts'
import { notingStatements, planOf } from '../../support/noted-statements.ts'

test('the rows of an organization that has few are rewritten without a look at those of the others', async () => {
  const { db } = await aFullFile()
  addChanges(db, { organization: 'acme', from: 1000, count: 20_000 })
  addChanges(db, { organization: 'globex', from: 100_000, count: 5000 })
  const { noting, statements } = notingStatements(db)
  const places = await hideNames(noting)
  const plans = statements.filter((sql) => sql.startsWith('SELECT')).flatMap((sql) => planOf(db, sql))
  const left = db
    .prepare(`SELECT count(*) FROM changes WHERE organization = 'globex' AND fields LIKE '%"name"%'`)
    .pluck()

  // Two full steps, and what is left.
  expect(places.filter(({ table }) => table === 'changes').map(({ row }) => row)).toEqual([0, 101_999, 103_999])
  expect(left.get()).toBe(0)
  const others = plans.filter(
    (step) => /^(SCAN|SEARCH) (customers|changes|runs)\b/.test(step) && !/\(organization=\?/.test(step),
  )
  expect(others).toEqual([])
  db.close()
})

async function aFullFile() {
  const file = await aFullMirror()
  const db = new Database(file)
  db.pragma('foreign_keys = OFF')
  return { file, db }
}

function addChanges(db: Database.Database, { organization, from, count }: Added): void {
  db.exec(`WITH RECURSIVE number (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM number WHERE n < ${from + count - 1})
    INSERT INTO changes (seq, run_id, organization, id, change, fields, at)
    SELECT n, 1, '${organization}', n, 'changed', '{"name":["Ada","Eve"]}', '2026-01-05' FROM number`)
}

type Added = { organization: string; from: number; count: number }

/** Hides the names of globex, step by step; the places of the steps. */
async function hideNames(db: Database.Database): Promise<Place[]> {
  const hidden = hiddenValues(NOTHING_HIDDEN, privacyPolicy({ drop: ['name'] }))
  if (hidden === undefined) throw new Error('the policy hides nothing')
  const given: Partial<Run> = { id: 1, organization: 'globex' }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const run = given as Run
  const places: Place[] = []
  let place: Place | undefined = { table: FIRST_TABLE, row: 0 }
  for (; place !== undefined; place = await rewriteSome(sqliteSession(db), run, { hidden, place, nowMs: START_MS }))
    places.push(place)
  return places
}
