import { expect, test } from 'vitest'
import { isUsableAgain } from '../../../src/mirror/mirror.ts'
import { aPostgresMirror } from '../../support/postgres/here.ts'

test.each([
  ['mirror-unreachable', true],
  ['mirror-read-only', true],
  // A transaction without rows meets none of these.
  ['mirror-full', false],
  ['mirror-locked', false],
])('where a server takes transactions, a failure with %s is over: %s', async (code, isOver) => {
  expect(await isUsableAgain(aPostgresMirror(), code)).toBe(isOver)
})
