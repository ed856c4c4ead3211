import { expect, onTestFinished, test } from 'vitest'
import { openDatabase, writeTransaction } from '../../../src/mirror/sqlite/opening/database.ts'
import { savePages } from '../../../src/mirror/sqlite/sqlite-mirror.ts'
import { startRun } from '../../../src/mirror/sqlite/run/runs.ts'
import { aPage, customers, START_MS } from '../../support/builders.ts'
import { aMirrorFile, valueOf } from '../../support/mirror-file.ts'

test('a full disk keeps nothing of the page that did not fit', () => {
  const file = aMirrorFile()
  const db = openDatabase(file, 'write')
  onTestFinished(() => {
    db.close()
  })
  const run = writeTransaction(db, file, () =>
    startRun(db, { organization: 'acme', trigger: 'sync', nowMs: START_MS }, 'somewhere#1'),
  )
  const save = (page: number, from: number, to: number) => () =>
    savePages(db, run, [aPage(page, customers(from, to))], START_MS)
  writeTransaction(db, file, save(1, 1, 5))
  db.pragma(`max_page_count = ${Number(db.pragma('page_count', { simple: true })) + 2}`)

  expect(() => writeTransaction(db, file, save(2, 6, 600))).toThrow(expect.objectContaining({ code: 'full' }))

  expect(valueOf(file, 'SELECT count(*) FROM customers')).toBe(5)
  expect(valueOf(file, 'SELECT received FROM runs')).toBe(5)
})
