import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { exposedMirror } from '../../src/cli/check/check-everything.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

test.skipIf(process.platform === 'win32').each<[file: number, folder: number, said: RegExp | undefined]>([
  [0o600, 0o755, undefined],
  [0o640, 0o750, undefined],
  [0o644, 0o700, undefined],
  [0o644, 0o755, /every user.*\(its mode is 644\)/],
  // As a file system without modes shows it.
  [0o777, 0o777, /every user.*\(its mode is 777\)/],
])('a mirror of the mode %o in a folder of %o', (mode, ofFolder, said) => {
  const folder = join(temporaryFolder(), 'data')
  mkdirSync(folder)
  const file = join(folder, 'customers.db')
  writeFileSync(file, '')
  chmodSync(file, mode)
  chmodSync(folder, ofFolder)

  expect(exposedMirror(file)).toEqual(
    said && { said: expect.stringMatching(said), fix: expect.stringContaining('mount that with umask=077') },
  )
})
