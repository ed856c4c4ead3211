import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { FIRST_TABLE, HIDDEN_TABLES, type Place } from '../../../src/mirror/hidden-rows.ts'
import { rewriteSome } from '../../../src/mirror/sqlite/privacy/rewrite-hidden.ts'
import { hiddenValues } from '../../../src/privacy/hidden-values.ts'
import { NOTHING_HIDDEN, privacyPolicy } from '../../../src/privacy/privacy-policy.ts'
import type { Run } from '../../../src/run.ts'
import { START_MS } from '../../support/builders.ts'
import { aFullMirror } from '../../support/full-mirror.ts'
import { notingStatements, planOf } from '../../support/noted-statements.ts'
import { rowsOf } from '../../support/mirror-file.ts'

test('each step of a changed policy looks at a bounded part of a table, however far the next row is', async () => {
  const { file, db } = await aFullFile()
  // As a restore has it: numbers go on far above those from before.
  const [others, far, own] = [130_000, 1_800_000_000_000, 25_000]
  db.exec(`UPDATE changes SET seq = seq + ${far} WHERE organization = 'globex'`)
  db.exec(`UPDATE customers SET row_id = row_id + ${far} WHERE organization = 'globex'`)
  addChanges(db, { organization: 'acme', from: 1000, count: others })
  addChanges(db, { organization: 'globex', from: 2 * far, count: own })
  const places = hideNames(db)
  db.close()

  const steps = places.filter(({ table }) => table === 'changes')
  expect(steps.length).toBeGreaterThan(2)
  expect(steps.length).toBeLessThan(30)
  expect(steps[1]?.row).toBeLessThan(1000 + others / 2)
  expect(new Set(places.map(({ table }) => table))).toEqual(new Set(HIDDEN_TABLES))
  const named = 'SELECT organization, count(name) > 0 AS named FROM customers GROUP BY 1 ORDER BY 1'
  expect(rowsOf(file, named)).toEqual([
    { organization: 'acme', named: 1 },
    { organization: 'globex', named: 0 },
  ])
})

test('the rows of an organization that has few are rewritten without a look at those of the others', async () => {
  const { db } = await aFullFile()
  addChanges(db, { organization: 'acme', from: 1000, count: 20_000 })
  addChanges(db, { organization: 'globex', from: 100_000, count: 5000 })
  const { noting, statements } = notingStatements(db)
  const places = hideNames(noting)
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
function hideNames(db: Database.Database): Place[] {
  const hidden = hiddenValues(NOTHING_HIDDEN, privacyPolicy({ drop: ['name'] }))
  if (hidden === undefined) throw new Error('the policy hides nothing')
  const given: Partial<Run> = { id: 1, organization: 'globex' }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const run = given as Run
  const places: Place[] = []
  let place: Place | undefined = { table: FIRST_TABLE, row: 0 }
  for (; place !== undefined; place = rewriteSome(db, run, { hidden, place, nowMs: START_MS })) places.push(place)
  return places
}
