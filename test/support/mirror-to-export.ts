import { readFileSync, writeFileSync } from 'node:fs'
import { openMirror } from '../../src/mirror/mirror.ts'
import { night } from '../mirror/nights.ts'
import { aCustomer, customers } from './builders.ts'
import { aMirrorFile } from './mirror-file.ts'

/** acme: 1 to 4 with 2 removed; globex: 101. The feed has a change of 1 and the removal of 2. */
export async function aMirrorToExport(): Promise<string> {
  const mirror = aMirrorFile()
  writeFileSync(mirror, await (made ??= mirrorNights()), { mode: 0o600 })
  return mirror
}

let made: Promise<Buffer> | undefined

/** The bytes of that mirror, made once for all tests. */
async function mirrorNights(): Promise<Buffer> {
  const open = await openMirror(aMirrorFile())
  const rule = { rule: { after: 2, maxShare: 1 } }
  await night(open, 0, customers(1, 4), rule)
  await night(open, 0, [aCustomer(101)], { organization: 'globex' })
  const later = [aCustomer(1, { name: 'Ada, "Countess"', vip: { n: 1 } }), ...customers(3, 4)]
  await night(open, 1, later, rule)
  await night(open, 2, later, rule)
  await open.close()
  return readFileSync(open.file)
}
