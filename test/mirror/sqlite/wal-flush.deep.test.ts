import { expect, test } from 'vitest'
import { openMirror } from '../../../src/mirror/mirror.ts'
import { aMirrorFile, valueOf } from '../../support/mirror-file.ts'
import { save, watchFlushes } from '../../support/watched-flushes.ts'

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
