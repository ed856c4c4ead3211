import { expect, test } from 'vitest'
import { sqlText } from '../../../src/cli/output/wording.ts'

test.each([
  ['acme', "'acme'"],
  ["o'hara", "'o''hara'"],
  ["'; DROP TABLE customers; --", "'''; DROP TABLE customers; --'"],
])('in a statement that is shown to be copied, %j is one text', (text, inStatement) => {
  expect(sqlText(text)).toBe(inStatement)
})
