import type { Mirror } from '../../src/model/mirror.ts'
import { aCustomer, customerId } from './builders.ts'
import { aPlayedMirror, mirrorPages, tamper } from './mirror-file.ts'

/** acme: Ada, Åsa, 100% Sure, under_score and one who is removed. globex: one customer. */
export async function aMirrorToQuery(): Promise<string> {
  return (await aPlayedMirror(mirrorNights)).file
}

async function mirrorNights(open: Mirror): Promise<void> {
  const acme = [
    aCustomer(1, { name: 'Ada Example', username: 'ada', language: 'en' }),
    aCustomer(2, { name: 'ÅSA ÉXAMPLE', username: 'asa', language: 'sv', email: 'Asa@Example.SE' }),
    aCustomer(3, { name: '100% Sure', username: 'sure', language: 'EN' }),
    aCustomer(4, { name: 'Under Score', username: 'under_score', email: null }),
    aCustomer(5, { name: 'Gone Away', username: 'gone' }),
  ]
  await mirrorPages(open, [acme])
  await mirrorPages(open, [[aCustomer(6, { name: 'Other Tenant', username: 'other' })]], { organization: 'globex' })
  tamper(open.file, `UPDATE customers SET removed_at = '2026-01-06 02:00:00.000' WHERE id = ?`, customerId(5))
}
