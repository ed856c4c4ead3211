import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { sqliteSession } from '../../../src/store/port/sqlite-store.ts'
import { listRejects } from '../../../src/store/reading/rejects.ts'
import { listLastRuns, listRuns } from '../../../src/store/reading/runs.ts'
import { aFullMirror } from '../../support/full-mirror.ts'
import { notingStatements, planOf } from '../../support/noted-statements.ts'

test('the latest runs of an organization are found without those of the others', async () => {
  const db = new Database(await aFullMirror(), { readonly: true })
  const { noting, statements } = notingStatements(db)
  const runs = await listRuns(sqliteSession(noting), { organization: 'globex', limit: 2 })
  const plans = statements.map((sql) => planOf(db, sql))
  db.close()

  expect(runs.map(({ organization }) => organization)).toEqual(['globex', 'globex'])
  expect(plans).toEqual([['SEARCH runs USING INDEX runs_by_organization (organization=?)']])
})

test('the last run of one organization is found without those of the others', async () => {
  const db = new Database(await aFullMirror(), { readonly: true })
  const { noting, statements } = notingStatements(db)
  const runs = await listLastRuns(sqliteSession(noting), { organization: 'globex' })
  const plan = statements.flatMap((sql) => planOf(db, sql))
  db.close()

  expect(runs.map(({ organization }) => organization)).toEqual(['globex'])
  expect(plan.filter((step) => step.startsWith('SCAN'))).toEqual(['SCAN CONSTANT ROW', 'SCAN known'])
})

test('the open rejects of an organization are found without those of the others', async () => {
  const db = new Database(await aFullMirror(), { readonly: true })
  const { noting, statements } = notingStatements(db)
  await listRejects(sqliteSession(noting), { organization: 'globex', limit: 2 })
  const plan = statements.flatMap((sql) => planOf(db, sql))
  db.close()

  expect(plan[0]).toBe('SEARCH rejects USING INDEX open_rejects (organization=?)')
})

test('the last run of each organization is found without its earlier ones', async () => {
  const db = new Database(await aFullMirror(), { readonly: true })
  const { noting, statements } = notingStatements(db)
  const runs = await listLastRuns(sqliteSession(noting))
  const plan = statements.flatMap((sql) => planOf(db, sql))
  db.close()

  expect(runs.map(({ organization }) => organization)).toEqual(['acme', 'globex'])
  expect(plan.filter((step) => step.startsWith('SCAN')).map((step) => step.split(' ')[1])).not.toContain('runs')
})
