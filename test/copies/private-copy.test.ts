import { expect, onTestFinished, test, vi } from 'vitest'
import { MirrorUnusable } from '../../src/errors/errors.ts'
import { makePrivateCopy } from '../../src/copies/private-copy.ts'

test('a folder for temporary files that is not there is named, and how to name another one', async () => {
  vi.stubEnv('TMPDIR', '/absent-folder')
  onTestFinished(() => void vi.unstubAllEnvs())
  const making = makePrivateCopy('postgres://mirror@127.0.0.1:1/mirrors')

  await expect(making).rejects.toThrow(MirrorUnusable)
  await expect(making).rejects.toThrow(/^\/absent-folder \(TMPDIR\): no such file or directory \(mkdtemp, ENOENT\)/)
})
