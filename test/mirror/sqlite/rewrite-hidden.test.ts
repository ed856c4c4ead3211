import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { FIRST_TABLE, HIDDEN_TABLES, type Place } from '../../../src/mirror/hidden-rows.ts'
import { rewriteSome } from '../../../src/mirror/sqlite/privacy/rewrite-hidden.ts'
import { hiddenValues } from '../../../src/privacy/hidden-values.ts'
import { NOTHING_HIDDEN, privacyPolicy } from '../../../src/privacy/privacy-policy.ts'
import type { Run } from '../../../src/run.ts'
import { START_MS } from '../../support/builders.ts'
import { aFullMirror } from '../../support/full-mirror.ts'
import { rowsOf } from '../../support/mirror-file.ts'

test('each step of a changed policy looks at a bounded part of a table, however far the next row is', async () => {
  const file = await aFullMirror()
  const db = new Database(file)
  db.pragma('foreign_keys = OFF')
  // As a restore has it: numbers go on far above those from before.
  const [others, far] = [130_000, 1_800_000_000_000]
  db.exec(`UPDATE changes SET seq = seq + ${far} WHERE organization = 'globex'`)
  db.exec(`UPDATE customers SET row_id = row_id + ${far} WHERE organization = 'globex'`)
  db.exec(`WITH RECURSIVE number (n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM number WHERE n < ${1000 + others})
    INSERT INTO changes (seq, run_id, organization, id, change, fields, at) SELECT n, 1, 'acme', n, 'changed', '{}', '2026-01-05' FROM number`)
  const hidden = hiddenValues(NOTHING_HIDDEN, privacyPolicy({ drop: ['name'] }))
  if (hidden === undefined) throw new Error('the policy hides nothing')
  const given: Partial<Run> = { id: 1, organization: 'globex' }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const run = given as Run
  const places: Place[] = [{ table: FIRST_TABLE, row: 0 }]
  for (let place = places[0]; place !== undefined; place = rewriteSome(db, run, { hidden, place, nowMs: START_MS }))
    places.push(place)
  db.close()

  const steps = places.filter(({ table }) => table === 'changes')
  expect(steps.length).toBeGreaterThan(2)
  expect(steps.length).toBeLessThan(15)
  expect(steps[1]?.row).toBeLessThan(1000 + others / 2)
  expect(new Set(places.map(({ table }) => table))).toEqual(new Set(HIDDEN_TABLES))
  const named = 'SELECT organization, count(name) > 0 AS named FROM customers GROUP BY 1 ORDER BY 1'
  expect(rowsOf(file, named)).toEqual([
    { organization: 'acme', named: 1 },
    { organization: 'globex', named: 0 },
  ])
})
