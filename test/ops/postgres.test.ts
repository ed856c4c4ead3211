import { expect, test } from 'vitest'
import { opsFile } from '../support/metrics.ts'

test('the script that makes partitions is one statement, which PostgreSQL does as a whole or not at all', () => {
  const script = opsFile('postgres/partition-customers.sql').replaceAll(/^--.*\n/gm, '')

  expect(script).toMatch(/^DO \$\$\n/)
  expect(script.slice('DO $$'.length)).toMatch(/^[^]*\nEND \$\$;\n$/)
  expect(script.split('$$')).toHaveLength(3)
  expect(script).not.toMatch(/\bCASCADE\b/)
})

test('readers get nothing but the right to read', () => {
  const granted = [...opsFile('postgres/roles.sql').matchAll(/^.*\bTO analyst;$/gm)].map(([line]) => line)

  expect(granted).toEqual([
    'GRANT USAGE ON SCHEMA customer_mirror TO analyst;',
    'ALTER DEFAULT PRIVILEGES FOR ROLE mirror IN SCHEMA customer_mirror GRANT SELECT ON TABLES TO analyst;',
    'ALTER DEFAULT PRIVILEGES FOR ROLE mirror IN SCHEMA customer_mirror GRANT SELECT ON SEQUENCES TO analyst;',
  ])
})
