import { readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { keepOlderBackup } from '../../../src/reading/backup/make-backup.ts'
import { aBackupFile } from '../../support/backing-up.ts'

test('a backup that a disk does not let say of when it is keeps the time of its file in its name', () => {
  const file = aBackupFile()
  writeFileSync(file, 'of which nothing can be read')
  utimesSync(file, 1_767_578_400, 1_767_578_400)

  expect(keepOlderBackup(file)).toHaveLength(1)
  expect(readdirSync(dirname(file)).toSorted()).toEqual(['customers-20260105T020000000Z.db', 'customers.db'])
})

test('an empty file, and one that is not there, have nothing to keep', () => {
  const file = aBackupFile()
  expect(keepOlderBackup(file)).toEqual([])
  writeFileSync(file, '')
  expect(keepOlderBackup(file)).toEqual([])
})
