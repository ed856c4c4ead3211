import { statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder } from '../../src/machine/folders.ts'
import { openMirror } from '../../src/store/mirror.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

test('a folder is made with those above it, and all of them are private', () => {
  const folder = join(temporaryFolder(), 'one', 'two')
  makeFolder(folder)
  makeFolder(folder)

  for (const made of [folder, dirname(folder)]) expect(statSync(made).mode & 0o777).toBe(0o700)
})

test.each([
  ['where nothing can be made', () => '/proc/none/made', 'ENOENT'],
  ['below a file', () => join(aFile(), 'one', 'two'), 'ENOTDIR'],
])('a folder %s is an error at once', (_, place, code) => {
  expect(() => makeFolder(place())).toThrow(expect.objectContaining({ code }))
})

test('a mirror where no folder can be made is unusable, and is not tried for ever', async () => {
  await expect(openMirror('/proc/none/made/customers.db')).rejects.toMatchObject({
    code: 'denied',
    message: expect.stringMatching(/^\/proc\/none\/made\/customers\.db: .*ENOENT/),
  })
})

function aFile(): string {
  const file = join(temporaryFolder(), 'file')
  writeFileSync(file, '')
  return file
}
