import { symlinkSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { flushWal } from '../../../src/mirror/sqlite/wal-flush.ts'
import { rehearseMirror } from '../../../src/mirror/mirror.ts'
import { aMirror, valueOf } from '../../support/mirror-file.ts'
import { save, watchFlushes } from '../../support/watched-flushes.ts'

test('the WAL of an initial sync is flushed while it lasts, and that of a night unless it writes little', async () => {
  const mirror = await aMirror()
  const flush = await watchFlushes()

  await save(mirror, 60)
  await expect.poll(() => flush.mock.calls.length).toBeGreaterThan(0)
  // While a flush is under way no other begins, and a slow disk takes its time.
  await expect.poll(() => flush.mock.settledResults.map(({ type }) => type)).not.toContain('incomplete')

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

test('a rehearsal does not flush the WAL of the mirror', async () => {
  const { file } = await aMirror()
  const rehearsal = await rehearseMirror(file, ['acme'])
  onTestFinished(() => rehearsal.close())
  const flush = await watchFlushes()

  await save(rehearsal, 100)

  expect(flush).not.toHaveBeenCalled()
})
