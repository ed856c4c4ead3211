import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { beginExport, EXPORTING } from '../../../src/reading/export/export-file.ts'
import { privateName } from '../../../src/reading/files/placed-file.ts'
import { failOnDisk } from '../../support/failing-disk.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'

test('an export that fails before its first row leaves nothing behind', () => {
  const folder = temporaryFolder()
  const file = join(folder, 'customers.csv')
  failOnDisk('chmodSync', () => true)

  expect(() => beginExport(privateName(file, EXPORTING), file)).toThrow(expect.objectContaining({ code: 'full' }))
  expect(readdirSync(folder)).toEqual([])
})
