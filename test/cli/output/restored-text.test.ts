import { expect, test } from 'vitest'
import { restoredText } from '../../../src/cli/restore.ts'

const RESTORED = {
  mirror: '/srv/data/customers.db',
  file: '/backup/customers.db',
  takenAt: undefined,
  customers: 9,
  organizations: 1,
  kept: undefined,
  feedGoesBack: false,
  onlyInBackup: [],
}

test.each([
  [1, '1 customer'],
  [2, '2 customers'],
])('a restore says what became of %i forgotten customers as of one or of many', (number, customers) => {
  const [, , forgotten, unrecognized] = restoredText({ ...RESTORED, forgotten: number, unrecognized: number }).split(
    '\n',
  )

  expect(forgotten).toBe(
    `${customers} forgotten after the backup: still forgotten, and what the backup held of them is deleted.`,
  )
  expect(unrecognized).toMatch(new RegExp(`^${customers} forgotten in the replaced mirror cannot be recognized here:`))
})

test.each([
  ['none was there', undefined, /^There is no replaced mirror to compare with: /m],
  ['it cannot be read', '/srv/data/customers-replaced.db', /^The replaced mirror cannot be read: /m],
])('a restore says that forgotten customers are back, and why: %s', (_why, kept, said) => {
  const text = restoredText({ ...RESTORED, kept, forgotten: undefined, unrecognized: 0 })

  expect(text).toMatch(said)
  expect(text).toContain('customers that were forgotten after the backup are back')
})
