import { expect, test } from 'vitest'
import { opsFile } from '../support/metrics.ts'

test('readers get nothing but the right to read', () => {
  const granted = [...opsFile('postgres/roles.sql').matchAll(/^.*\bTO analyst;$/gm)].map(([line]) => line)

  expect(granted).toEqual([
    'GRANT USAGE ON SCHEMA customer_mirror TO analyst;',
    'ALTER DEFAULT PRIVILEGES FOR ROLE mirror IN SCHEMA customer_mirror GRANT SELECT ON TABLES TO analyst;',
    'ALTER DEFAULT PRIVILEGES FOR ROLE mirror IN SCHEMA customer_mirror GRANT SELECT ON SEQUENCES TO analyst;',
  ])
})
