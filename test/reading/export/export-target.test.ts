import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { requireReplaceable } from '../../../src/reading/export/export-target.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'

test.each([
  ['in a folder that is not there', 'none/customers.csv', /no such file or directory \(stat, ENOENT\)/],
  ['below a file', 'file/customers.csv', /not a directory \(stat, ENOTDIR\)/],
])('a place %s is refused before a mirror in PostgreSQL is copied to be read', (_, place, message) => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'file'), '')

  expect(() => requireReplaceable(join(folder, place), { mirror: 'postgres://db.internal/crm' })).toThrow(
    expect.objectContaining({ code: 'usage', message: expect.stringMatching(message) }),
  )
})
