import { readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test, vi } from 'vitest'
import { copyError } from '../../../src/copies/copy-error.ts'
import { beginPartitions } from '../../../src/copies/partition-folder.ts'
import { failOnDisk } from '../../support/failing-disk.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'

/** Exports this text as the partition of each organization. */
function exportInto(folder: string, text: string, organizations = ['acme', 'globex']): void {
  const partitions = beginPartitions(folder, {
    extension: 'csv',
    write: (chunk, descriptor) => void writeSync(descriptor, String(chunk)),
  })
  try {
    for (const organization of organizations) {
      const partition = partitions.of(organization)
      partition.write(text)
      partition.finish(1)
    }
    partitions.finish({ text })
  } finally {
    partitions.close()
  }
}

const manifestIn = (folder: string) => JSON.parse(readFileSync(join(folder, '_manifest.json'), 'utf8'))

test('a disk that keeps what an export left is no defect: the first failure is named', () => {
  const folder = temporaryFolder()
  failOnDisk('renameSync', () => true)
  failOnDisk('unlinkSync', () => true, 'EROFS')

  expect(() => exportInto(folder, 'one')).toThrow(
    expect.objectContaining({
      code: 'full',
      message: expect.stringMatching(/\(\w+, EIO\)\. What was there before is unchanged\./),
    }),
  )
})

test('a manifest that the disk does not let read is not called one of another program', () => {
  const folder = temporaryFolder()
  exportInto(folder, 'one')
  failOnDisk('readFileSync', (place) => String(place).endsWith('_manifest.json'))

  expect(() => exportInto(folder, 'two')).toThrow(
    expect.objectContaining({
      code: 'full',
      message: expect.stringMatching(/\(\w+, EIO\)\. What was there before is unchanged\./),
    }),
  )
})

test('a disk that fails between two partitions leaves those of two exports, and both are said to be there', () => {
  const folder = temporaryFolder()
  exportInto(folder, 'one')
  failOnDisk('renameSync', (_from, to) => String(to).includes('globex'))

  expect(() => exportInto(folder, 'two')).toThrow(
    expect.objectContaining({
      code: 'full',
      message: expect.stringMatching(/but not all of it: each partition is of this export or of the one from before/),
    }),
  )
  expect(manifestIn(folder)).toMatchObject({ text: 'two', replaced: [{ rows: 1 }, { rows: 1 }] })
})

test('a lock that a failing disk does not let be taken is no defect', () => {
  const failing = vi.spyOn(Database.prototype, 'pragma').mockImplementation(() => {
    throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR')
  })
  onTestFinished(() => failing.mockRestore())

  expect(() => exportInto(temporaryFolder(), 'one')).toThrow(expect.objectContaining({ code: 'full' }))
})

test('what SQLite says of anything else stays as it is', () => {
  const constraint = new Database.SqliteError('UNIQUE constraint failed', 'SQLITE_CONSTRAINT')
  expect(copyError(constraint, 'c.csv')).toBe(constraint)
})
