import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { putInPlace } from '../../src/copies/written-file.ts'
import { failOnDisk, failToFlushFolders } from '../support/failing-disk.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

/** A file that is there, and another one that is finished. */
function twoFiles(): { finished: string; place: string } {
  const folder = temporaryFolder()
  const [finished, place] = [join(folder, 'finished'), join(folder, 'place')]
  writeFileSync(finished, 'new')
  writeFileSync(place, 'old')
  return { finished, place }
}

test('a file that could not get its place leaves what is there, and the error is that of the system', () => {
  const { finished, place } = twoFiles()
  failOnDisk('renameSync', () => true)

  expect(() => putInPlace(finished, place)).toThrow(expect.objectContaining({ code: 'EIO', syscall: 'rename' }))
  expect(readFileSync(place, 'utf8')).toBe('old')
})

test('a file whose place the disk did not confirm is said to be in it', () => {
  const { finished, place } = twoFiles()
  failToFlushFolders()

  expect(() => putInPlace(finished, place)).toThrow(
    /^is in its place, but the disk failed before it confirmed that: after a power failure/,
  )
  expect(readFileSync(place, 'utf8')).toBe('new')
  expect(existsSync(finished)).toBe(false)
})

test('a file system that flushes no folders is no failure', () => {
  const { finished, place } = twoFiles()
  failToFlushFolders('EINVAL')

  putInPlace(finished, place)

  expect(readFileSync(place, 'utf8')).toBe('new')
})
