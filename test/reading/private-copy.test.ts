import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { MirrorUnusable } from '../../src/errors/errors.ts'
import { nameOfProcess } from '../../src/machine/process-name.ts'
import { makePrivateCopy } from '../../src/reading/private-copy.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

test('a folder for temporary files that is not there is named, and how to name another one', async () => {
  vi.stubEnv('TMPDIR', '/absent-folder')
  onTestFinished(() => void vi.unstubAllEnvs())
  const making = makePrivateCopy('postgres://mirror@127.0.0.1:1/mirrors')

  await expect(making).rejects.toThrow(MirrorUnusable)
  await expect(making).rejects.toThrow(/^\/absent-folder: .*\(ENOENT\).* Let TMPDIR name a folder/)
})

test('copies of processes that were killed are removed, and those of running ones stay', async () => {
  const folder = temporaryFolder()
  vi.stubEnv('TMPDIR', folder)
  onTestFinished(() => void vi.unstubAllEnvs())
  const owners = { gone: nameOfProcess().replace(/#\d+$/, '#1'), running: nameOfProcess() }
  for (const [name, owner] of Object.entries(owners)) {
    mkdirSync(join(folder, `customer-mirror-copy-${name}`))
    writeFileSync(join(folder, `customer-mirror-copy-${name}`, 'owner'), owner)
  }
  const making = makePrivateCopy('postgres://mirror@127.0.0.1:1/mirrors')

  await expect(making).rejects.toThrow(MirrorUnusable)
  expect(readdirSync(folder)).toEqual(['customer-mirror-copy-running'])
})
