import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { nameOfProcess } from '../../src/machine/process-name.ts'
import { makeTemporaryFolder } from '../../src/reading/private-copy.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

test('folders of processes that were killed are removed, and those of running ones stay', () => {
  const parent = temporaryFolder()
  vi.stubEnv('TMPDIR', parent)
  onTestFinished(() => void vi.unstubAllEnvs())
  const owners = { gone: nameOfProcess().replace(/#\d+$/, '#1'), running: nameOfProcess() }
  for (const [name, owner] of Object.entries(owners)) {
    mkdirSync(join(parent, `customer-mirror-copy-${name}`))
    writeFileSync(join(parent, `customer-mirror-copy-${name}`, 'owner'), owner)
  }

  const made = makeTemporaryFolder()

  expect(readdirSync(parent).toSorted()).toEqual([basename(made), 'customer-mirror-copy-running'].toSorted())
  expect(statSync(made).mode & 0o777).toBe(0o700)
})
