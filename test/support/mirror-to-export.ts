import type { Mirror } from '../../src/model/mirror.ts'
import { night } from '../store/nights.ts'
import { aCustomer, customers } from './builders.ts'
import { aPlayedFile } from './mirror-file.ts'

/** acme: 1 to 4 with 2 removed; globex: 101. The feed has a change of 1 and the removal of 2. */
export function aMirrorToExport(): Promise<string> {
  return aPlayedFile(mirrorNights)
}

async function mirrorNights(open: Mirror): Promise<void> {
  const rule = { rule: { after: 2, maxShare: 1 } }
  await night(open, 0, customers(1, 4), rule)
  await night(open, 0, [aCustomer(101)], { organization: 'globex' })
  const later = [aCustomer(1, { name: 'Ada, "Countess"', vip: { n: 1 } }), ...customers(3, 4)]
  await night(open, 1, later, rule)
  await night(open, 2, later, rule)
}
