import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { findGone } from '../../../src/mirror/sqlite/removals/removal-candidates.ts'
import { RowSet } from '../../../src/list/row-set.ts'
import type { Run } from '../../../src/run.ts'
import { aFullMirror } from '../../support/full-mirror.ts'
import { rowsOf } from '../../support/mirror-file.ts'
import { notingStatements, planOf } from '../../support/noted-statements.ts'

test('no statement reads the rejects of all organizations for a customer that is gone', async () => {
  const file = await aFullMirror()
  const rows = rowsOf(file, `SELECT row_id FROM customers WHERE organization = 'acme' AND missing_since IS NULL`)
  const db = new Database(file, { readonly: true })
  const { noting, statements } = notingStatements(db)
  const given: Partial<Run> = { organization: 'acme', seen: new RowSet(), rejectedIds: new Set() }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const run = given as Run
  const gone = findGone(
    noting,
    run,
    rows.map(({ row_id }) => Number(row_id)),
  )
  const ofRejects = statements.filter((sql) => sql.includes('rejects'))
  const plans = ofRejects.map((sql) => planOf(db, sql))
  db.close()

  expect(gone.length).toBeGreaterThan(0)
  expect(plans).not.toEqual([])
  expect(plans.flat()).not.toContainEqual(expect.stringContaining('SCAN rejects'))
})
