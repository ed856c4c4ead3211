import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Mirror } from '../../src/model/mirror.ts'
import { openMirror } from '../../src/store/mirror.ts'
import { night } from '../store/nights.ts'
import { aCustomer, customerId, customers } from './builders.ts'
import { aMirrorFile, aPlayedMirror, mirrorPages, tamper } from './mirror-file.ts'

/** More than pipes hold. */
export const CUSTOMERS = 3000

let ofMany: Promise<Buffer> | undefined

/** A mirror that was made once for all tests, as a file. */
export async function aMirrorOfMany(): Promise<string> {
  const copy = aMirrorFile()
  writeFileSync(copy, await (ofMany ??= mirrorMany()), { mode: 0o600 })
  return copy
}

async function mirrorMany(): Promise<Buffer> {
  const made = await openMirror(aMirrorFile())
  await night(made, 0, customers(1, CUSTOMERS))
  await made.close()
  return readFileSync(made.file)
}

/** Counts without end. */
export const ENDLESS = 'WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT COUNT(*) FROM c'

/** A mirror of five customers in a folder of its own, for all tests of a file, which removes the folder. */
export async function aMirrorToAsk(): Promise<string> {
  const file = join(mkdtempSync(join(tmpdir(), 'customer-mirror-')), 'customers.db')
  const mirror = await openMirror(file)
  await mirrorPages(mirror, [customers(1, 5)])
  await mirror.close()
  return file
}

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
