import { expect, onTestFinished, test } from 'vitest'
import { mirrorIn } from '../../../src/store/open-sqlite.ts'
import { openDatabase } from '../../../src/store/sqlite/open-database.ts'
import { aPage, customers, START_MS } from '../../support/builders.ts'
import { aMirrorFile, valueOf } from '../../support/mirror-file.ts'

test('a full disk keeps nothing of the page that did not fit', async () => {
  const file = aMirrorFile()
  const db = openDatabase(file, 'write')
  const mirror = mirrorIn(db, file)
  onTestFinished(() => mirror.close())
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  await mirror.savePages(run, [aPage(1, customers(1, 5))], START_MS)
  db.pragma(`max_page_count = ${Number(db.pragma('page_count', { simple: true })) + 2}`)

  await expect(mirror.savePages(run, [aPage(2, customers(6, 600))], START_MS)).rejects.toMatchObject({
    code: 'full',
  })

  expect(valueOf(file, 'SELECT count(*) FROM customers')).toBe(5)
  expect(valueOf(file, 'SELECT received FROM runs')).toBe(5)
})
