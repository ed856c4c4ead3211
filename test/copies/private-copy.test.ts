import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { makePrivateCopy } from '../../src/copies/move.ts'
import { lockPlace } from '../../src/copies/written-file.ts'
import { MirrorUnusable } from '../../src/errors/errors.ts'
import { temporaryFolder } from '../support/mirror-file.ts'

/** Where temporary files go during the test, and a private copy that fails there: no server answers. */
function makingIn(folder: string) {
  vi.stubEnv('TMPDIR', folder)
  onTestFinished(() => void vi.unstubAllEnvs())
  return expect(makePrivateCopy('postgres://mirror@127.0.0.1:1/mirrors')).rejects
}

test('a folder for temporary files that is not there is named, and how to name another one', async () => {
  await makingIn('/absent-folder').toThrow(/^\/absent-folder \(TMPDIR\): no such file or directory \(\w+, ENOENT\)/)
})

test('copies of processes that were killed are removed, and those of running ones stay', async () => {
  const parent = join(temporaryFolder(), `customer-mirror-${process.geteuid?.()}`)
  mkdirSync(parent, { mode: 0o700 })
  const [gone, running] = ['gone', 'running'].map((name) => `.copy-${name}.0123456789abcdef.unfinished`)
  for (const name of [gone, running]) writeFileSync(join(parent, String(name)), 'rows')
  const held = lockPlace(join(parent, 'copy-running'))
  onTestFinished(held.release)

  await makingIn(dirname(parent)).toThrow(MirrorUnusable)
  expect(readdirSync(parent).toSorted()).toEqual([running, '.copy-running.writing'])
})

test.each([
  ['that is open to others', 0o755, /^customer-mirror-\d+(-\w{6})?$/],
  ['of this user alone', 0o700, /^customer-mirror-\d+$/],
])('a copy is made in a folder of this user alone, also where there is one %s', async (_, mode, used) => {
  const parent = temporaryFolder()
  mkdirSync(join(parent, `customer-mirror-${process.geteuid?.()}`), { mode })
  await makingIn(parent).toThrow(MirrorUnusable)

  const folders = readdirSync(parent)
  expect(folders.filter((name) => (statSync(join(parent, name)).mode & 0o777) === 0o700)).toHaveLength(1)
  for (const name of folders) expect(name).toMatch(used)
})
