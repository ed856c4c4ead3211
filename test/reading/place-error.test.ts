import { expect, test } from 'vitest'
import { exitCodeOf } from '../../src/cli/exit-code.ts'
import { describeError } from '../../src/errors/errors.ts'
import { backupError } from '../../src/reading/backup/backup-error.ts'
import { exportError } from '../../src/reading/export/export-error.ts'
import { copyError } from '../../src/reading/publish/copy-error.ts'

test.each([
  ['backup', backupError],
  ['copy', copyError],
  ['export', exportError],
])('a %s that finds too many files open is to be made again later', (what, described) => {
  for (const code of ['EMFILE', 'ENFILE']) {
    const error = described(
      Object.assign(new Error(`${code}: too many open files, open '/b/c.db'`), { code, syscall: 'open' }),
      '/b/c.db',
    )

    expect(describeError(error)).toMatchObject({
      code: `${what}-unfinished`,
      message: expect.stringContaining('ulimit -n'),
    })
    expect(exitCodeOf(error)).toBe(5)
  }
})
