import { expect, test } from 'vitest'
import { movedText } from '../../../src/cli/move.ts'

const FACTS = {
  from: 'postgres://db/orders',
  to: '/data/customers.db',
  ...{ organizations: 1, rows: { customers: 2 } },
  setting: { place: 'customer-mirror.yaml', line: 'mirror: "/data/customers.db"' },
}

test.each([
  [
    'goes on with runs until the line is changed',
    false,
    /is as it was, and runs go on there until you change one line/,
  ],
  [
    'is a standby has its runs on another server',
    true,
    /accepts no writes .* runs are made on another server.*\nTo have/,
  ],
])('a mirror that was moved from a server that %s', (_, isReadOnly, said) => {
  const text = movedText(FACTS, { isReadOnly })

  expect(text).toMatch(said)
  expect(text.includes('runs go on there')).toBe(!isReadOnly)
})
