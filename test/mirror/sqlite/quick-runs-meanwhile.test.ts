import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { listedMeanwhile } from '../../../src/mirror/sqlite/removals/quick-runs-meanwhile.ts'
import { aFullMirror } from '../../support/full-mirror.ts'
import { tamper } from '../../support/mirror-file.ts'
import { notingStatements } from '../../support/noted-statements.ts'

test('no customer is read where no quick run received any while a scan was interrupted', async () => {
  const file = await aFullMirror()
  tamper(file, 'UPDATE runs SET trusted_pages = NULL')
  const db = new Database(file, { readonly: true })
  const { noting, statements } = notingStatements(db)
  const listed = listedMeanwhile(noting, { organization: 'acme', resumedFrom: 1 })
  db.close()

  expect(listed).toEqual(new Set())
  expect(statements).toHaveLength(1)
  expect(statements[0]).not.toContain('FROM customers')
})
