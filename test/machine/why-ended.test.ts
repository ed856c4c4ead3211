import { expect, test } from 'vitest'
import { whyEnded } from '../../src/machine/why-ended.ts'

test.each([
  ['SIGBUS', /disk .*is full or failed/, /Free some space/],
  ['SIGKILL', /memory/, /less/],
  ['SIGABRT', /memory/, /less/],
  [null, /memory/, /less/],
])('%s', (signal, why, fix) => {
  expect(whyEnded(signal)).toEqual({ why: expect.stringMatching(why), fix: expect.stringMatching(fix) })
})
