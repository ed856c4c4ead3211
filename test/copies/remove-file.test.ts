import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { removeFile, removeIfPossible } from '../../src/copies/written-file.ts'
import { failOnDisk } from '../support/failing-disk.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

function aFile(name = 'file'): string {
  const path = join(temporaryFolder(), name)
  writeFileSync(path, '')
  return path
}

test('a file is removed, and one that is not there is no failure', () => {
  const file = aFile()
  for (const path of [file, file, join(file, '..', 'none')]) removeFile(path)
  expect(existsSync(file)).toBe(false)
})

test('a file that a disk keeps is an error with the code of the system', () => {
  failOnDisk('unlinkSync', () => true, 'EROFS')
  expect(() => removeFile(aFile())).toThrow(expect.objectContaining({ code: 'EROFS', syscall: 'unlink' }))
})

test('what is of no use any more is removed as far as the disk lets it', () => {
  const [kept, removed] = [aFile('kept'), aFile('removed')]
  failOnDisk('unlinkSync', (path) => path === kept)

  removeIfPossible([kept, removed])

  expect([kept, removed].map((path) => existsSync(path))).toEqual([true, false])
})
