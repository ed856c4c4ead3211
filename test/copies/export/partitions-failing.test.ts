import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test, vi } from 'vitest'
import { copyError } from '../../../src/copies/copy-error.ts'
import { lookAtFolder } from '../../../src/copies/objects/folder.ts'
import type { WrittenObject } from '../../../src/copies/objects/object-place.ts'
import { partsIn } from '../../support/exported-files.ts'
import { failOnDisk } from '../../support/failing-disk.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'

/** Exports this text as the partition of each organization. */
async function exportInto(folder: string, text: string, names = ['acme', 'globex']): Promise<void> {
  const place = lookAtFolder(folder, { extension: 'csv' })
  try {
    const organizations: WrittenObject[] = []
    for (const organization of names) {
      const object = place.begin(organization)
      object.write(text)
      const put = await object.put().finally(() => object.close())
      if (put !== undefined) organizations.push({ organization, rows: 1, ...put })
    }
    await place.finish({ text, organizations, replaced: [] }, true)
  } finally {
    place.close()
  }
}

const manifestIn = (folder: string) => JSON.parse(readFileSync(join(folder, '_manifest.json'), 'utf8'))

test('a disk that keeps what an export left is no defect: the first failure is named', async () => {
  const folder = temporaryFolder()
  failOnDisk('renameSync', () => true)
  failOnDisk('unlinkSync', () => true, 'EROFS')

  await expect(exportInto(folder, 'one')).rejects.toThrow(
    expect.objectContaining({
      code: 'full',
      message: expect.stringMatching(/\(\w+, EIO\)\. What was there before is unchanged\./),
    }),
  )
})

test('a manifest that the disk does not let read is not called one of another program', async () => {
  const folder = temporaryFolder()
  await exportInto(folder, 'one')
  failOnDisk('readFileSync', (place) => String(place).endsWith('_manifest.json'))

  await expect(exportInto(folder, 'two')).rejects.toThrow(
    expect.objectContaining({
      code: 'full',
      message: expect.stringMatching(/\(\w+, EIO\)\. What was there before is unchanged\./),
    }),
  )
})

test('a disk that fails between two partitions leaves those of two exports, and both are said to be there', async () => {
  const folder = temporaryFolder()
  await exportInto(folder, 'one')
  failOnDisk('renameSync', (_from, to) => String(to).includes('globex'))

  await expect(exportInto(folder, 'two')).rejects.toThrow(
    expect.objectContaining({
      code: 'full',
      message: expect.stringMatching(/but not all of it: each partition is of this export or of the one from before/),
    }),
  )
  expect(manifestIn(folder)).toMatchObject({
    text: 'two',
    replaced: [{ sha256: expect.any(String) }, { sha256: expect.any(String) }],
  })
})

test('a lock that a failing disk does not let be taken is no defect', async () => {
  const failing = vi.spyOn(Database.prototype, 'pragma').mockImplementation(() => {
    throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR')
  })
  onTestFinished(() => failing.mockRestore())

  await expect(exportInto(temporaryFolder(), 'one')).rejects.toThrow(expect.objectContaining({ code: 'full' }))
})

test('what SQLite says of anything else stays as it is', () => {
  const constraint = new Database.SqliteError('UNIQUE constraint failed', 'SQLITE_CONSTRAINT')
  expect(copyError(constraint, 'c.csv')).toBe(constraint)
})

test('an export that does not reach its end leaves the set from before, and nothing of its own', async () => {
  const folder = temporaryFolder()
  await exportInto(folder, 'one')
  const before = partsIn(folder)
  failOnDisk('fsyncSync', () => true)
  await expect(exportInto(folder, 'two', ['acme', 'initech'])).rejects.toThrow('EIO')

  expect(partsIn(folder)).toEqual(before)
  expect(readFileSync(join(folder, 'organization=acme', 'part-0.csv'), 'utf8')).toBe('one')
})
