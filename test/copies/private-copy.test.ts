import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { makePrivateCopy, privatePlace } from '../../src/copies/private-copy.ts'
import { lockPlace } from '../../src/copies/written-file.ts'
import { MirrorUnusable } from '../../src/errors/errors.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

test('a folder for temporary files that is not there is named, and how to name another one', async () => {
  vi.stubEnv('TMPDIR', '/absent-folder')
  onTestFinished(() => void vi.unstubAllEnvs())
  const making = makePrivateCopy('postgres://mirror@127.0.0.1:1/mirrors')

  await expect(making).rejects.toThrow(MirrorUnusable)
  await expect(making).rejects.toThrow(/^\/absent-folder \(TMPDIR\): no such file or directory \(mkdtemp, ENOENT\)/)
})

test('folders of processes that were killed are removed, and those of running ones stay', () => {
  const parent = temporaryFolder()
  vi.stubEnv('TMPDIR', parent)
  onTestFinished(() => void vi.unstubAllEnvs())
  const folders = ['gone', 'running'].map((name) => join(parent, `customer-mirror-copy-${name}`))
  for (const folder of folders) {
    mkdirSync(folder)
    writeFileSync(join(folder, 'customers.db'), 'rows')
  }
  const running = lockPlace(join(parent, 'customer-mirror-copy-running', 'customers.db'))
  onTestFinished(running.release)

  const made = privatePlace()
  onTestFinished(made.remove)

  const folder = dirname(made.file)
  expect(readdirSync(parent).toSorted()).toEqual([basename(folder), 'customer-mirror-copy-running'].toSorted())
  expect(statSync(folder).mode & 0o777).toBe(0o700)
})
