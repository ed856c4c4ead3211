import { expect, test } from 'vitest'
import { night } from '../store/nights.ts'
import { aCustomer, type SentRecord } from '../support/builders.ts'
import { aMirror, rowsOf } from '../support/mirror-file.ts'
import { syncSandbox } from '../support/mirrored-sandbox.ts'
import { aSandbox } from '../support/workplace.ts'
import { aReader, aServe, WITH_NONCE } from './a-served-mirror.ts'

/** Every active customer, with all that the service sent. */
const SENT = `SELECT id, name, username, email, phone, address, company_name, language, timezone, created_at, created_at_utc, extra
  FROM active_customers WHERE organization = 'acme' ORDER BY id`

test.each([
  ['with times in common', 'proven', ['2024-01-02T03:04:05.000000Z', '2024-01-02T03:04:06.000000Z']],
  ['with fractions of a second', 'proven', [5, 500, 1, 999_999]],
  ['without a time', 'settled', [null, undefined, 7]],
  ['with times in several forms', 'settled', ['long ago', '2024-02-03 04:05:06', '2024-01-02T05:04:05+02:00', 3]],
] as const)('a replica of customers %s is %s, with what the specification does not know', async (_, proof, times) => {
  const list = Array.from({ length: 260 }, (__, n) => oddCustomer(n + 1, times))
  const [mirror, replica] = [await aMirror(), await aMirror()]
  await night(mirror, 0, list)
  const reader = aReader('shop', { recipe: WITH_NONCE })
  const { baseUrl } = await aServe(mirror.file, { readers: [reader] })
  const { report } = await syncSandbox(await aSandbox({ customers: [0] }), replica, {
    ...{ baseUrl: new URL(baseUrl), signing: reader.recipe },
    ...{ apiKey: { literal: reader.apiKey }, secret: { literal: reader.secret } },
  })

  expect([report.status, report.proof, report.rejected]).toEqual(['complete', proof, 0])
  expect(rowsOf(replica.file, SENT)).toEqual(rowsOf(mirror.file, SENT))
})

/** Created at one of these times, a number being microseconds of one second; with fields that are missing, empty or unknown. */
function oddCustomer(n: number, times: readonly (string | number | null | undefined)[]): SentRecord {
  const time = times[n % times.length]
  return aCustomer(n, {
    created_at: typeof time === 'number' ? `2024-01-02T03:04:05.${String(time).padStart(6, '0')}Z` : time,
    ...(n % 5 === 0 && { phone: null, language: '' }),
    ...(n % 7 === 0 && { vip: { level: n }, tags: [null, 'Ünï\u{1F600}'] }),
  })
}
