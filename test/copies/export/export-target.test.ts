import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { atPlace } from '../../../src/copies/copy-error.ts'
import { requireTextPlace } from '../../../src/copies/target-place.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'

test.each([
  ['in a folder that is not there', 'none/customers.csv', /no such file or directory \(stat, ENOENT\)/],
  ['below a file', 'file/customers.csv', /not a directory \(stat, ENOTDIR\)/],
])('a place %s is refused before a mirror in PostgreSQL is copied to be read', (_, place, message) => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'file'), '')

  const file = join(folder, place)
  const sources = { mirror: 'postgres://db.internal/crm', example: 'customers.csv' }

  expect(() => atPlace(file, () => requireTextPlace(file, sources))).toThrow(
    expect.objectContaining({ code: 'usage', message: expect.stringMatching(message) }),
  )
})
