import { expect, test } from 'vitest'
import { opsFile } from '../support/metrics.ts'

test('the script that makes partitions is one statement, which PostgreSQL does as a whole or not at all', () => {
  const script = opsFile('postgres/partition-customers.sql').replaceAll(/^--.*\n/gm, '')

  expect(script).toMatch(/^DO \$\$\n/)
  expect(script.slice('DO $$'.length)).toMatch(/^[^]*\nEND \$\$;\n$/)
  expect(script.split('$$')).toHaveLength(3)
  expect(script).not.toMatch(/\bCASCADE\b/)
})
