import { expect, test } from 'vitest'
import { unwritableMirror } from '../../src/cli/check/unwritable-mirror.ts'

test.each([
  ['EROFS', 'm.db: lies on a read-only file system.', /^Mount it .*name another mirror/],
  ['EACCES', 'm.db: cannot be written by this user', /^Make the file and its folder writable\.$/],
])('a mirror that cannot be written because of %s is reported as that, with a fix that helps', (code, said, fix) => {
  const cause = Object.assign(new Error(code), { code, syscall: 'access' })

  expect(unwritableMirror('m.db', cause)).toMatchObject({ said, fix: expect.stringMatching(fix) })
})
