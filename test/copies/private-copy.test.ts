import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { makePrivateCopy } from '../../src/copies/private-copy.ts'
import { lockPlace } from '../../src/copies/written-file.ts'
import { MirrorUnusable } from '../../src/errors/errors.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

test('a folder for temporary files that is not there is named, and how to name another one', async () => {
  vi.stubEnv('TMPDIR', '/absent-folder')
  onTestFinished(() => void vi.unstubAllEnvs())
  const making = makePrivateCopy('postgres://mirror@127.0.0.1:1/mirrors')

  await expect(making).rejects.toThrow(MirrorUnusable)
  await expect(making).rejects.toThrow(/^\/absent-folder \(TMPDIR\): no such file or directory \(open, ENOENT\)/)
})

test('copies of processes that were killed are removed, and those of running ones stay', async () => {
  const parent = temporaryFolder()
  vi.stubEnv('TMPDIR', parent)
  onTestFinished(() => void vi.unstubAllEnvs())
  const [gone, running] = ['gone', 'running'].map((name) => `.customer-mirror-copy-${name}.0123456789abcdef.unfinished`)
  for (const name of [gone, running]) writeFileSync(join(parent, String(name)), 'rows')
  const held = lockPlace(join(parent, 'customer-mirror-copy-running'))
  onTestFinished(held.release)

  await expect(makePrivateCopy('postgres://mirror@127.0.0.1:1/mirrors')).rejects.toThrow(MirrorUnusable)

  expect(readdirSync(parent).toSorted()).toEqual([running, '.customer-mirror-copy-running.writing'])
})
