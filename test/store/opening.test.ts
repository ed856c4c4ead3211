import { expect, onTestFinished, test } from 'vitest'
import { openMirror, openMirrorToRead } from '../../src/store/mirror.ts'
import { customers, START_MS } from '../support/builders.ts'
import { isThere } from '../support/mirror-reader.ts'
import { aMirror, aMirrorFile, mirrorPages, rowsOf, tamper } from '../support/mirror-file.ts'

test('active_customers leaves out removed customers', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, 3)])
  tamper(mirror.file, `UPDATE customers SET removed_at = '2026-01-06 02:00:00.000' WHERE name = 'Customer 2'`)

  expect(rowsOf(mirror.file, 'SELECT name FROM active_customers ORDER BY name').map(({ name }) => name)).toEqual([
    'Customer 1',
    'Customer 3',
  ])
})

test('a mirror that is opened again holds what it held', async () => {
  const file = aMirrorFile()
  await aClosedMirror(file, 20)

  const again = await aMirror(file)

  expect(await again.listRuns({ limit: 5 })).toMatchObject([{ received: 20, inserted: 20 }])
})

test('reading a missing mirror reports it and creates none', async () => {
  const file = aMirrorFile()

  await expect(openMirrorToRead(file)).rejects.toMatchObject({ name: 'MirrorUnusable', code: 'missing' })
  expect(isThere(file)).toBe(false)
})

test('a mirror opened to read refuses to be written, and reads on', async () => {
  const file = aMirrorFile()
  await aClosedMirror(file, 2)
  const reader = await openMirrorToRead(file)
  onTestFinished(() => reader.close())

  const writing = reader.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })

  await expect(writing).rejects.toMatchObject({ name: 'MirrorUnusable', code: 'denied' })
  expect(await reader.listRuns({ limit: 5 })).toHaveLength(1)
})

/** A mirror with so many customers, made by a program that has ended. */
async function aClosedMirror(file: string, count: number): Promise<void> {
  const mirror = await openMirror(file)
  await mirrorPages(mirror, [customers(1, count)])
  await mirror.close()
}
