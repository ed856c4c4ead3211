import { constants } from 'node:os'
import { expect, test } from 'vitest'
import { codeOf, systemCode } from '../../src/errors/code-of.ts'
import { copyError } from '../../src/reading/publish/copy-error.ts'
import { exportError } from '../../src/reading/export/export-error.ts'

const QUOTA = constants.errno.EDQUOT

/** As Node throws it: functions that were made faster give another code. */
const aQuotaUsedUp = (code: string) => Object.assign(new Error(code), { errno: -QUOTA, code, syscall: 'write' })

test.each([`Unknown system error -${QUOTA}`, 'UNKNOWN'])(
  'a quota that is used up has its name, though Node has none for it: %s',
  (code) => {
    const error = aQuotaUsedUp(code)

    expect(systemCode(error)).toBe('EDQUOT')
    expect(copyError(error, 'readers.db')).toMatchObject({
      code: 'copy-full',
      message: expect.stringMatching(/a quota is used up.*\(EDQUOT\)$/),
    })
    expect(exportError(error, 'customers.csv')).toMatchObject({ code: 'export-full' })
  },
)

test('a code that has a name stays, and so does a number that has none', () => {
  const alike = Object.assign(new Error('made up'), { errno: -QUOTA, code: 'EIO', syscall: 'write' })
  const unnamed = Object.assign(new Error('made up'), { errno: -9999, code: 'UNKNOWN', syscall: 'write' })

  expect([codeOf(alike), codeOf(unnamed), codeOf(new Error('made up'))]).toEqual(['EIO', 'UNKNOWN', undefined])
})
