import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { findGone } from '../../../src/mirror/sqlite/removals/removal-candidates.ts'
import { RowSet } from '../../../src/list/row-set.ts'
import type { Run } from '../../../src/run.ts'
import { aFullMirror } from '../../support/full-mirror.ts'
import { rowsOf } from '../../support/mirror-file.ts'

test('no statement reads the rejects of all organizations for a customer that is gone', async () => {
  const file = await aFullMirror()
  const rows = rowsOf(file, `SELECT row_id FROM customers WHERE organization = 'acme' AND missing_since IS NULL`)
  const db = new Database(file, { readonly: true })
  const statements: string[] = []
  const noting = Object.assign(Object.create(db), {
    prepare: (sql: string) => {
      statements.push(sql)
      return db.prepare(sql)
    },
  })
  const given: Partial<Run> = { organization: 'acme', seen: new RowSet(), rejectedIds: new Set() }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const run = given as Run
  const gone = findGone(
    noting,
    run,
    rows.map(({ row_id }) => Number(row_id)),
  )
  const ofRejects = statements.filter((sql) => sql.includes('rejects'))
  const plans = ofRejects.flatMap((sql) =>
    db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all({ organization: '', id: '', ids: '[]' }),
  )
  db.close()

  expect(gone.length).toBeGreaterThan(0)
  expect(plans).not.toEqual([])
  expect(plans).not.toContainEqual(expect.objectContaining({ detail: expect.stringContaining('SCAN rejects') }))
})
