import { expect, test } from 'vitest'
import type { Organization } from '../../src/config/organization.ts'
import type { Reader } from '../../src/config/credentials.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import type { Sandbox } from '../../src/service/sandbox.ts'
import { DAY_MS, night } from '../store/nights.ts'
import { aCustomer, customerId, type SentRecord, START_MS } from '../support/builders.ts'
import { eventually } from '../support/eventually.ts'
import { aMirror, mirrorPages, rowsOf } from '../support/mirror-file.ts'
import { syncSandbox } from '../support/mirrored-sandbox.ts'
import { aSandbox } from '../support/workplace.ts'
import { aReader, aServe, WITH_NONCE } from './a-served-mirror.ts'

const IDS = ['acme', 'globex', 'initech'] as const
const READERS = IDS.map((id) => aReader(`reader-of-${id}`, { organizations: [id] }))

/** Has another mirror read an organization from what is served, as it would from the service. */
async function copyInto(replica: Mirror, { baseUrl }: { baseUrl: string }, reader: Reader, sandbox: Sandbox) {
  const [id = ''] = reader.organizations
  const at: Partial<Organization> = {
    ...{ id, baseUrl: new URL(baseUrl), signing: reader.recipe },
    ...{ apiKey: { literal: reader.apiKey }, secret: { literal: reader.secret } },
  }
  return syncSandbox(sandbox, replica, at)
}

/** Every active customer of an organization, with all that the service sent. */
const rows = (mirror: Mirror, organization: string) =>
  rowsOf(
    mirror.file,
    `SELECT id, name, username, email, phone, address, company_name, language, timezone, created_at, created_at_utc, extra
     FROM active_customers WHERE organization = ? ORDER BY id`,
    organization,
  )

test('a mirror of what is served is proven, and equals the mirror that is served, for three organizations', async () => {
  const sandbox = await aSandbox({ customers: [1050, 230, 0] })
  const [mirror, replica] = [await aMirror(), await aMirror()]
  for (const id of IDS) expect((await syncSandbox(sandbox, mirror, { id })).report.proof).toBe('proven')
  const served = await aServe(mirror.file, { readers: READERS })
  for (const [index, reader] of READERS.entries()) {
    const id = IDS[index] ?? ''
    const { report } = await copyInto(replica, served, reader, sandbox)
    expect([report.status, report.proof, report.rejected]).toEqual(['complete', 'proven', 0])
    expect(rows(replica, id)).toEqual(rows(mirror, id))
    expect(rows(replica, id)).toHaveLength([1050, 230, 0][index] ?? -1)
  }
})

test.each([
  ['with times in common', 'proven', ['2024-01-02T03:04:05.000000Z', '2024-01-02T03:04:06.000000Z']],
  ['with fractions of a second', 'proven', [5, 500, 1, 999_999]],
  ['without a time', 'settled', [null, undefined, 7]],
  ['with times in several forms', 'settled', ['long ago', '2024-02-03 04:05:06', '2024-01-02T05:04:05+02:00', 3]],
] as const)(
  'a replica of customers %s is %s, and has what the specification does not know',
  async (_, proof, times) => {
    const list = Array.from({ length: 260 }, (__, n) => oddCustomer(n + 1, times))
    const [mirror, replica] = [await aMirror(), await aMirror()]
    await night(mirror, 0, list)
    const reader = aReader('shop', { recipe: WITH_NONCE })
    const served = await aServe(mirror.file, { readers: [reader] })
    const sandbox = await aSandbox({ customers: [0] })
    const { report } = await copyInto(replica, served, reader, sandbox)

    expect([report.status, report.proof, report.rejected]).toEqual(['complete', proof, 0])
    expect(rows(replica, 'acme')).toEqual(rows(mirror, 'acme'))
  },
)

/** Created at one of these times, a number being microseconds of one second; with fields that are missing, empty or unknown. */
function oddCustomer(n: number, times: readonly (string | number | null | undefined)[]): SentRecord {
  const time = times[n % times.length]
  return aCustomer(n, {
    created_at: typeof time === 'number' ? `2024-01-02T03:04:05.${String(time).padStart(6, '0')}Z` : time,
    ...(n % 5 === 0 && { phone: null, language: '' }),
    ...(n % 7 === 0 && { vip: { level: n }, tags: [null, 'Ünï\u{1F600}'] }),
  })
}

test('a replica that is read while runs write misses no customer that was always there, and equals the mirror afterwards', async () => {
  const [mirror, replica] = [await aMirror(), await aMirror()]
  const stays = Array.from({ length: 700 }, (_, n) => datedCustomer(n + 1))
  await mirrorPages(mirror, [stays], { ending: { proof: 'proven', reasons: [] } })
  const [reader = aReader('shop')] = READERS
  const served = await aServe(mirror.file, { readers: [reader] })
  const sandbox = await aSandbox({ customers: [0] })
  const under = { way: true }
  const reading = copyInto(replica, served, reader, sandbox).finally(() => (under.way = false))
  let n = 1
  for (; n < 10; n += 1) {
    const asked = served.lines.length
    await eventually(() => !under.way || served.lines.length > asked, Boolean)
    const moving = Array.from({ length: 50 }, (_, index) => datedCustomer(2000 - n * 20 + index))
    await mirrorPages(mirror, [[...moving, ...stays]], { atMs: START_MS + n * DAY_MS, ending: REMOVING })
  }
  const { report } = await reading
  const there = new Set(rows(replica, 'acme').map(({ id }) => id))

  expect(report.status).toBe('complete')
  expect(stays.filter(({ id }) => !there.has(id))).toEqual([])
  await mirrorPages(mirror, [[...stays, datedCustomer(3000)]], { atMs: START_MS + n * DAY_MS, ending: REMOVING })
  await expect.poll(async () => (await served.ask('/customers')).meta.total).toBe(701)
  for (let again = 0; again < 2; again += 1)
    expect((await copyInto(replica, served, reader, sandbox)).report.proof).toBe('proven')
  const present = `SELECT id FROM active_customers WHERE organization = 'acme' AND missing_since IS NULL ORDER BY id`
  expect(rowsOf(replica.file, present)).toEqual(rowsOf(mirror.file, present))
})

/** Customers in an order of creation that is not that of their ids. */
const datedCustomer = (n: number) =>
  aCustomer(n, { id: customerId((n * 7919) % 10_007), created_at: new Date(START_MS - n * 60_000).toISOString() })

const REMOVING = {
  proof: 'proven',
  reasons: [],
  removals: { rule: { after: 1, maxShare: 1 }, confirmed: new Set<string>() },
} as const
