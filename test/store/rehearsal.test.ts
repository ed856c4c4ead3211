import { expect, onTestFinished, test } from 'vitest'
import { rehearseMirror, type Mirror } from '../../src/store/mirror.ts'
import { aCustomer, aPage, customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { isThere } from '../support/mirror-reader.ts'
import { aMirror, aMirrorFile, dump, mirrorPages, valueOf } from '../support/mirror-file.ts'

test('a rehearsal counts what the real run would do', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [[...customers(1, 10), { id: 'nobody' }]])
  const tonight = [[...customers(2, 10), aCustomer(1, { name: 'Renamed' }), aCustomer(11), { id: 'nobody' }]]

  const rehearsed = await mirrorPages(await aRehearsal(mirror.file), tonight, { atMs: START_MS + MINUTE_MS })
  const real = await mirrorPages(mirror, tonight, { atMs: START_MS + MINUTE_MS })

  expect(rehearsed).toMatchObject({ received: 12, inserted: 1, updated: 1, unchanged: 9, rejected: 1 })
  expect(rehearsed).toEqual(real)
})

test('a rehearsal where there is no mirror yet makes none', async () => {
  const file = aMirrorFile()

  expect(await mirrorPages(await aRehearsal(file), [customers(1, 3)])).toMatchObject({ inserted: 3 })
  expect(isThere(file)).toBe(false)
})

test('a rehearsal may be held while a real run holds the organization, and does not disturb it', async () => {
  const mirror = await aMirror()
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  await mirror.savePages(run, [aPage(1, customers(1, 5))], START_MS)
  const before = dump(mirror.file)

  const report = await mirrorPages(await aRehearsal(mirror.file), [customers(1, 6)])

  expect(report).toMatchObject({ unchanged: 5, inserted: 1 })
  expect(dump(mirror.file)).toEqual(before)
  await mirror.savePages(run, [aPage(2, customers(6, 7))], START_MS)
  expect(valueOf(mirror.file, 'SELECT count(*) FROM customers')).toBe(7)
})

async function aRehearsal(file: string): Promise<Mirror> {
  const rehearsal = await rehearseMirror(file, ['acme'])
  onTestFinished(() => rehearsal.close())
  return rehearsal
}
