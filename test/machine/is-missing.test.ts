import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isMissing } from '../../src/machine/folders.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { withoutPrivileges } from '../support/without-privileges.ts'

test('a file that is not there is missing, and so is one below a file', () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'file'), '')
  symlinkSync(join(folder, 'gone'), join(folder, 'link'))

  expect(isMissing(join(folder, 'file'))).toBe(false)
  for (const path of ['none', 'none/file', 'file/none', 'link']) expect(isMissing(join(folder, path))).toBe(true)
})

test('a file in a folder that this user may not enter is not taken as missing', async () => {
  const folder = join(temporaryFolder(), 'private')
  mkdirSync(folder)
  chmodSync(folder, 0)
  const found = await withoutPrivileges(() => isMissing(join(folder, 'file')))
  chmodSync(folder, 0o700)

  expect(found).toBe(false)
})
