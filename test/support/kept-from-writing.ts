import { aCustomer, customers } from './builders.ts'

/** A list with a record that is rejected. */
const BROKEN = [aCustomer(1, { name: [] }), aCustomer(2)]

/** What a trigger may keep from being written: its event, and a list that is received after customers 1 and 2. */
export const KEPT_FROM_WRITING: [what: string, event: string, list: readonly object[]][] = [
  ['new customers', 'INSERT ON customers', customers(1, 4)],
  ['new customers of the feed', 'INSERT ON changes', customers(1, 4)],
  ['changes of the feed', 'INSERT ON changes', [aCustomer(1, { name: 'Ada' }), aCustomer(2)]],
  ['changed customers', 'UPDATE ON customers', [aCustomer(1, { name: 'Ada' }), aCustomer(2)]],
  ['rejects', 'INSERT ON rejects', BROKEN],
]
