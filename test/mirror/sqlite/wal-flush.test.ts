import type { Mirror } from '../../../src/store.ts'
import { symlinkSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { flushWal } from '../../../src/mirror/sqlite/wal-flush.ts'
import { openMirror, rehearseMirror } from '../../../src/mirror/mirror.ts'
import { anEnding, aPage, customers, START_MS } from '../../support/builders.ts'
import { aMirror, aMirrorFile, valueOf } from '../../support/mirror-file.ts'

test('the WAL of an initial sync is flushed while it lasts, and that of a night unless it writes little', async () => {
  const mirror = await aMirror()
  const flush = await watchFlushes()

  await save(mirror, 60)
  await expect.poll(() => flush.mock.calls.length).toBeGreaterThan(0)

  flush.mockClear()
  await save(mirror, 1, 'Renamed')
  expect(valueOf(mirror.file, `SELECT COUNT(*) FROM customers WHERE name = 'Renamed'`)).toBe(100)
  expect(flush).not.toHaveBeenCalled()

  await save(mirror, 10, 'Renamed again')
  await expect.poll(() => flush.mock.calls.length).toBeGreaterThan(0)
})

test('the WAL of a mirror behind a link is flushed too: it stands beside the file itself', async () => {
  const { file } = await aMirror()
  const link = `${file}.link`
  symlinkSync(file, link)
  const mirror = await aMirror(link)
  const flush = await watchFlushes()

  await save(mirror, 60)

  await expect.poll(() => flush.mock.calls.length).toBeGreaterThan(0)
})

test('where a flush costs more than it saves, and after the end, there is none', async () => {
  const { file } = await aMirror()
  const flush = await watchFlushes()
  const [elsewhere, ended] = [flushWal(file, 'darwin'), flushWal(file, 'linux')]

  elsewhere.wrote(10_000, 'inARow')
  await ended.close()
  ended.wrote(10_000, 'inARow')

  for (const wal of [elsewhere, ended]) await wal.close()
  expect(flush).not.toHaveBeenCalled()
})

test('one flush is under way at a time, and the mirror is closed after it', async () => {
  const file = aMirrorFile()
  const mirror = await openMirror(file)
  const flush = await watchFlushes()
  const { promise, resolve } = Promise.withResolvers<void>()
  flush.mockReturnValue(promise)

  await save(mirror, 150)
  let isClosed = false
  const closing = mirror.close().then(() => (isClosed = true))
  await expect.poll(() => flush.mock.calls.length).toBe(1)
  expect(isClosed).toBe(false)

  resolve()
  await closing
  expect(flush).toHaveBeenCalledTimes(1)
  expect(valueOf(file, 'SELECT COUNT(*) FROM customers')).toBe(15_000)
})

test('a failed flush leaves the error to SQLite', async () => {
  const file = aMirrorFile()
  const mirror = await openMirror(file)
  const flush = await watchFlushes()
  flush.mockRejectedValue(new Error('EIO'))

  await save(mirror, 100)
  await mirror.close()

  expect(flush).toHaveBeenCalled()
  expect(valueOf(file, 'SELECT COUNT(*) FROM customers')).toBe(10_000)
})

test('a rehearsal does not flush the WAL of the mirror', async () => {
  const { file } = await aMirror()
  const rehearsal = await rehearseMirror(file, ['acme'])
  onTestFinished(() => rehearsal.close())
  const flush = await watchFlushes()

  await save(rehearsal, 100)

  expect(flush).not.toHaveBeenCalled()
})

/** Saves so many pages of 100 customers, ten at a time. */
async function save(mirror: Mirror, pages: number, name?: string): Promise<void> {
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  for (let page = 1; page <= pages; page += 10) {
    const some = Array.from({ length: Math.min(10, pages) }, (_, place) => pageOf(page + place, name))
    await mirror.savePages(run, some, START_MS)
  }
  await mirror.finishRun(run, anEnding(), START_MS)
}

function pageOf(page: number, name?: string) {
  const some = customers(100 * (page - 1) + 1, 100 * page)
  return aPage(page, name === undefined ? some : some.map((customer) => ({ ...customer, name })))
}

async function watchFlushes() {
  const some = await open(import.meta.filename)
  const spy = vi.spyOn(Object.getPrototypeOf(some), 'datasync')
  onTestFinished(() => spy.mockRestore())
  await some.close()
  return spy
}
