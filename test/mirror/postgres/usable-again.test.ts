import { expect, test } from 'vitest'
import { isUsableAgain } from '../../../src/mirror/mirror.ts'

test.each(['mirror-unreachable', 'mirror-full'])(
  'where no server answers, a failure with %s is not over',
  async (code) => {
    expect(await isUsableAgain('postgres://mirror@127.0.0.1:1/orders', code)).toBe(false)
  },
)
