import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { PRESETS, recipeOf } from '../../src/signing/signing.ts'
import { acme, configOf } from './configuration-folder.ts'

test('defaults hold for every organization, and its own settings win key by key', async () => {
  const shared = `
schedule: { cron: "0 2 * * *", timezone: Europe/Paris, spread: 10m }
defaults:
  pageSize: 50
  maxWait: 1h
  signing: { preset: ts-body, encoding: base64 }
  rateLimit: { requestsPerMinute: 600, shared: all }
`
  const own = [
    'pageSize: 25',
    'signing: { encoding: hex }',
    'rateLimit: { shared: mine }',
    'schedule: { cron: "30 3 * * 1-5" }',
  ]
  const [organization] = (await configOf(shared + acme(...own))).organizations
  expect(organization).toMatchObject({
    pageSize: 25,
    maxWaitMs: 3_600_000,
    signing: { template: PRESETS['ts-body'], encoding: 'hex' },
    rateLimit: { requestsPerMinute: 600, shared: 'mine' },
    schedule: { cron: '30 3 * * 1-5', timezone: 'Europe/Paris', spreadMs: 600_000 },
  })
})

test('retention is merged limit by limit, and forever lifts a shared one', async () => {
  const shared = 'defaults: { retention: { changes: 365d, removedCustomers: 90d } }\n'
  const [own] = (await configOf(shared + acme('retention: { removedCustomers: forever }'))).organizations
  const [none] = (await configOf(shared + acme('retention: { changes: forever, removedCustomers: forever }')))
    .organizations

  const yearMs = 365 * 86_400_000
  const forAYear = { changesMs: yearMs, resolvedRejectsMs: yearMs, runsMs: yearMs }
  expect(own?.retention).toEqual({ ...forAYear, removedCustomersMs: undefined })
  expect(none?.retention).toBeUndefined()
})

test('a preset of its own replaces a shared template, and keeps the shared encoding', async () => {
  const shared = 'defaults: { signing: { template: "{ts}", encoding: base64, nonceHeader: X-Number } }\n'
  const [organization] = (await configOf(shared + acme('signing: { preset: ts-body, nonceHeader: X-Once }')))
    .organizations
  expect(organization?.signing).toEqual({ ...recipeOf('ts-body'), encoding: 'base64', nonceHeader: 'X-Once' })
})

test.each([
  ['https://ACME.example.com/api/v1///', 'https://acme.example.com/api/v1'],
  ['http://localhost:8080/api/v1', 'http://localhost:8080/api/v1'],
  ['http://[::1]:8080/', 'http://[::1]:8080/'],
])('the base address %s is read as %s', async (written, read) => {
  const [organization] = (await configOf(acme().replace('https://acme.example.com/api/v1', written))).organizations
  expect(organization?.baseUrl.href).toBe(read)
})

test.each<[written: string, read: object]>([
  ['maxWait: 500ms', { maxWaitMs: 500 }],
  ['maxWait: 0s', { maxWaitMs: 0 }],
  // A plain scan removes no customer, so everything may be hidden.
  ['scan: plain\n    privacy: { drop: [email, name, username] }', { privacy: { hash: [], key: undefined } }],
  ...['*/15 0-6 1,15 * MON-FRI', '0 2 L * ?', '0 2 * jan-MAR 7', '5/15 2 * * FRIL', '0 2 * * 1#2,5L'].map(
    (cron): [string, object] => [`schedule: { cron: "${cron}", timezone: UTC }`, { schedule: { cron } }],
  ),
])('%s is accepted', async (written, read) => {
  expect((await configOf(acme(written))).organizations[0]).toMatchObject(read)
})

test('what is published: files relative to the folder of the configuration, or a bucket, with all settings', async () => {
  const read = async (publish: string) => configOf(`publish: ${publish}\n${acme()}`)
  const { file, publish } = await read('{ file: ./copies/readers.db }')
  const all =
    '{ file: "/srv/{organization}/x.db", group: "readers-{organization}", keep: 7, withoutPersonalData: true, report: true }'

  const nothing = { group: undefined, keep: undefined, withoutPersonalData: false, report: false }
  expect(publish).toEqual({ ...nothing, file: join(dirname(file), 'copies', 'readers.db') })
  expect((await read(all)).publish).toEqual({
    ...{ file: '/srv/{organization}/x.db', group: 'readers-{organization}' },
    ...{ keep: 7, withoutPersonalData: true, report: true },
  })
  expect((await read('{ to: s3://analytics, group: 1005, file: x.db }')).publish).toMatchObject({
    ...{ to: { bucket: 'analytics', prefix: '' }, group: 1005 },
  })
})
