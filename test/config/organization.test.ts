import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { chooseOrganizations } from '../../src/config/organization.ts'
import { UsageError } from '../../src/errors/errors.ts'
import { DEFAULT_PRESET, PRESETS, recipeOf } from '../../src/signing/signing.ts'
import { acme, configOf, mistakesIn } from './configuration-folder.ts'

test('an organization without settings gets the built-in ones', async () => {
  const config = await configOf(acme())
  expect(config.queue).toBeUndefined()
  expect(config.mirror).toMatch(/\/data\/customers\.db$/)
  expect(config.organizations).toEqual([
    {
      id: 'acme',
      baseUrl: new URL('https://acme.example.com/api/v1'),
      apiKey: { env: 'ACME_API_KEY' },
      secret: { env: 'ACME_SECRET' },
      pageSize: 100,
      concurrency: 8,
      requestTimeoutMs: 30_000,
      maxWaitMs: 15 * 60_000,
      maxRunMs: 6 * 3_600_000,
      resumeWithinMs: 6 * 3_600_000,
      scan: 'chain',
      removals: { after: 2, maxShare: 0.1 },
      rateLimit: {},
      signing: recipeOf(DEFAULT_PRESET),
      schedule: undefined,
    },
  ])
})

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
  const shared = 'defaults: { retention: { changes: 365d, runs: 90d } }\n'
  const [own] = (await configOf(shared + acme('retention: { changes: forever, removedCustomers: 1.5d }'))).organizations
  const [none] = (await configOf(shared + acme('retention: { changes: forever, runs: forever }'))).organizations

  expect(own?.retention).toEqual({
    changesMs: undefined,
    resolvedRejectsMs: undefined,
    runsMs: 90 * 86_400_000,
    removedCustomersMs: 1.5 * 86_400_000,
  })
  expect(none?.retention).toBeUndefined()
})

test('a preset of its own replaces a shared template, and keeps the shared encoding', async () => {
  const shared = 'defaults: { signing: { template: "{ts}", encoding: base64, headers: { key: X-Key } } }\n'
  const [organization] = (await configOf(shared + acme('signing: { preset: ts-body, headers: { nonce: X-Once } }')))
    .organizations
  expect(organization?.signing).toEqual({
    ...recipeOf('ts-body'),
    encoding: 'base64',
    headers: { key: 'X-Key', timestamp: 'X-Timestamp', signature: 'X-Signature', nonce: 'X-Once' },
  })
})

test.each([
  ['https://ACME.example.com/api/v1///', 'https://acme.example.com/api/v1'],
  ['https://acme.example.com', 'https://acme.example.com/'],
  ['http://localhost:8080/api/v1', 'http://localhost:8080/api/v1'],
  ['http://127.8.9.1', 'http://127.8.9.1/'],
  ['http://[::1]:8080/', 'http://[::1]:8080/'],
])('the base address %s is read as %s', async (written, read) => {
  const [organization] = (await configOf(acme().replace('https://acme.example.com/api/v1', written))).organizations
  expect(organization?.baseUrl.href).toBe(read)
})

test.each([
  ['500ms', 500],
  ['1.5s', 1500],
  ['15m', 900_000],
  ['0s', 0],
  ['1d', 86_400_000],
])('the duration %s is %i milliseconds', async (written, ms) => {
  expect((await configOf(acme(`maxWait: ${written}`))).organizations[0]?.maxWaitMs).toBe(ms)
})

test.each([
  '* * * * *',
  '*/15 0-6 1,15 * MON-FRI',
  '0 2 L * ?',
  '0 2 * jan-MAR 7',
  '5/15 2 * * FRIL',
  '0 2 * * 1#2,5L',
])('the cron line "%s" is accepted', async (cron) => {
  const [organization] = (await configOf(acme(`schedule: { cron: "${cron}", timezone: UTC }`))).organizations
  expect(organization?.schedule?.cron).toBe(cron)
})

test.each([
  ['0 2 * * JAN', 'has an unreadable day of week (field 5 of five)'],
  ['0 2 * MON *', 'has an unreadable month (field 4 of five)'],
  ['0 2 15L * *', 'has an unreadable day of month (field 3 of five)'],
  ['? 2 * * *', 'has an unreadable minute (field 1 of five)'],
  ['*-5 2 * * *', 'has an unreadable minute (field 1 of five)'],
  ['0 2 * * 1-5L', 'has an unreadable day of week (field 5 of five)'],
  ['0 2 * * FOOL', 'has an unreadable day of week (field 5 of five)'],
  ['*/90 * * * *', 'must have a step of at most 59 in the minute (field 1 of five)'],
  ['*/0 * * * *', 'has a step of zero in the minute (field 1 of five)'],
  ['0 22-6 * * *', 'has a range that runs backwards in the hour (field 2 of five)'],
  ['0 2 * * FRI-MON', 'has a range that runs backwards in the day of week (field 5 of five)'],
  ['0 2 * * 1#6', 'has an unreadable day of week (field 5 of five)'],
])('the cron line "%s", which would be taken for another one or for none, %s', async (cron, problem) => {
  expect(await mistakesIn(acme(`schedule: { cron: "${cron}", timezone: UTC }`))).toEqual([
    `customer-mirror.yaml:6:23 organizations.0.schedule.cron: ${problem}`,
  ])
})

test('no id chooses every organization; ids choose these, once each, in their order', async () => {
  const globex = acme().replace('organizations:\n', '').replaceAll(/acme/gi, 'globex')
  const config = await configOf(acme() + globex)
  const ids = (...chosen: string[]): string[] => chooseOrganizations(config, chosen).map(({ id }) => id)
  expect(ids()).toEqual(['acme', 'globex'])
  expect(ids('globex', 'acme', 'globex')).toEqual(['globex', 'acme'])
})

test('an unknown organization is a usage error that names the nearest', async () => {
  const config = await configOf(acme())
  expect(() => chooseOrganizations(config, ['acmee', 'acme'])).toThrow(
    new UsageError('unknown organization "acmee" (did you mean "acme"?): the configuration has acme'),
  )
})

test.each([
  ['eight where it is not written', '', 8],
  ['eight where nothing is written in it', 'jobs: {}\n', 8],
  ['as written', 'jobs: { concurrency: 256 }\n', 256],
])('a worker mirrors organizations at the same time: %s', async (_what, written, concurrency) => {
  expect((await configOf(written + acme())).jobs).toEqual({ concurrency })
})

test.each(['0', '257', '2.5', '"8"'])(
  '%s organizations at the same time are reported where they stand',
  async (written) => {
    expect(await mistakesIn(`jobs: { concurrency: ${written} }\n${acme()}`)).toEqual([
      'customer-mirror.yaml:1:22 jobs.concurrency: must be a whole number from 1 to 256',
    ])
  },
)

const SHARED = 'schedule: { cron: "0 2 * * *", timezone: Europe/Paris, quick: "*/15 * * * *" }\n'

describe('when quick runs are made', () => {
  test.each([
    ['the line of all organizations', SHARED, [], '*/15 * * * *'],
    ['a line of its own', SHARED, ['schedule: { quick: "0 8-18 * * 1-5" }'], '0 8-18 * * 1-5'],
    ['none, although the others have one', SHARED, ['schedule: { quick: never }'], undefined],
    ['none without such a line', 'schedule: { cron: "0 2 * * *", timezone: UTC }\n', [], undefined],
    [
      'a line of its own alone',
      'schedule: { cron: "0 2 * * *", timezone: UTC }\n',
      ['schedule: { quick: "0 9 * * *" }'],
      '0 9 * * *',
    ],
  ])('an organization has %s', async (_what, shared, own, quick) => {
    const [organization] = (await configOf(shared + acme(...own))).organizations

    expect(organization?.schedule).toMatchObject({ cron: '0 2 * * *', spreadMs: 0 })
    expect(organization?.schedule?.quick).toBe(quick)
  })

  test.each([
    [
      'four fields',
      '*/15 * * *',
      'must have five fields, such as "*/15 * * * *" for every quarter of an hour, or be never',
    ],
    ['minute 75', '75 * * * *', 'must have a number from 0 to 59 as minute (field 1 of five)'],
  ])('%s as a quick line is reported where it stands', async (_what, line, message) => {
    const text = `schedule: { cron: "0 2 * * *", timezone: UTC, quick: "${line}" }\n`

    expect(await mistakesIn(text + acme())).toEqual([`customer-mirror.yaml:1:54 schedule.quick: ${message}`])
  })

  test('a quick line without a line for the nights is unfinished', async () => {
    expect(await mistakesIn(acme('schedule: { quick: "*/15 * * * *", timezone: UTC }'))).toEqual([
      'customer-mirror.yaml:6:15 organizations.0.schedule.cron: is missing, and there is no schedule at the top level to take it from',
    ])
  })
})

const OF_FILES =
  'is about a copy in a file: remove it. Parquet and a bucket have a file or an object for each organization'

const withPublish = (publish: string) => `publish: ${publish}\n${acme()}`

describe('publish in the configuration', () => {
  test('the file is relative to the folder of the configuration', async () => {
    const { file, publish } = await configOf(withPublish('{ file: ./copies/readers.db }'))

    expect(publish).toEqual({
      file: join(dirname(file), 'copies', 'readers.db'),
      group: undefined,
      keep: undefined,
      withoutPersonalData: false,
    })
  })

  test('all settings', async () => {
    const { publish } = await configOf(
      withPublish(
        '{ file: "/srv/{organization}/x.db", group: "readers-{organization}", keep: 7, withoutPersonalData: true }',
      ),
    )

    expect(publish).toEqual({
      file: '/srv/{organization}/x.db',
      group: 'readers-{organization}',
      keep: 7,
      withoutPersonalData: true,
    })
    expect((await configOf(withPublish('{ file: x.db, group: 1005 }'))).publish?.group).toBe(1005)
  })

  test('a bucket', async () => {
    expect((await configOf(withPublish('{ to: s3://analytics, withoutPersonalData: true }'))).publish).toMatchObject({
      to: { bucket: 'analytics', prefix: '' },
      withoutPersonalData: true,
    })
  })

  test('several places at once', async () => {
    const { file, publish } = await configOf(
      withPublish('{ file: x.db, parquet: ./copies/parquet, to: s3://analytics/cm, group: analysts }'),
    )

    expect(publish).toMatchObject({
      file: join(dirname(file), 'x.db'),
      parquet: join(dirname(file), 'copies', 'parquet'),
      to: { bucket: 'analytics', prefix: 'cm' },
      group: 'analysts',
    })
  })

  test.each([
    [
      '{}',
      '1:10 publish.file: is missing: name the copy, a folder as parquet, or a place in object storage as to: s3://bucket/prefix',
    ],
    ['{ file: x.db, kep: 7 }', '1:24 publish.kep: unknown key (did you mean "keep"?)'],
    ['{ file: x.db, keep: -1 }', '1:30 publish.keep: must be a whole number from 0 to 1000'],
    ['{ file: x.db, keep: 1.5 }', '1:30 publish.keep: must be a whole number from 0 to 1000'],
    ['{ file: x.db, withoutPersonalData: "yes" }', '1:45 publish.withoutPersonalData: must be true or false'],
    ['{ file: copies/ }', '1:18 publish.file: must name a file, such as ./copies/customers.db, and not a folder'],
    ['{ file: ~/x.db }', '1:18 publish.file: must be a full path: ~ is not expanded here'],
    ['{ file: "{org}.db" }', '1:18 publish.file: may hold {organization}, and no other name in braces'],
    [
      '{ file: x.db, group: "a-{organization}" }',
      '1:31 publish.group: holds {organization}, and the name of the file does not',
    ],
    [
      '{ file: x.db, group: [a] }',
      '1:31 publish.group: must be the name or the number of a group, such as analysts or 1005',
    ],
    [
      '{ file: x.db, group: a b }',
      '1:31 publish.group: must be the name or the number of a group, such as analysts or 1005',
    ],
    [
      '{ file: x.db, group: -1 }',
      '1:31 publish.group: must be the name or the number of a group, such as analysts or 1005',
    ],
    ['x.db', '1:10 publish: must be a mapping of keys to values'],
    ['{ to: analytics/x }', '1:16 publish.to: must be an address such as s3://bucket/prefix'],
    [
      '{ to: "s3://analytics/{organization}" }',
      '1:16 publish.to: names a prefix that not every program reads: use letters, digits and . _ - = between single slashes, at most 500',
    ],
    [
      '{ file: s3://analytics/x }',
      '1:18 publish.file: must be on this machine; a place in object storage is named as to',
    ],
    [
      '{ parquet: s3://analytics/x }',
      '1:21 publish.parquet: must be on this machine; a place in object storage is named as to',
    ],
    [
      '{ parquet: "copies/{organization}" }',
      '1:21 publish.parquet: must not hold braces: each organization has a folder of its own in it',
    ],
    ['{ parquet: copies, keep: 7 }', `1:35 publish.keep: ${OF_FILES}`],
    [
      '{ file: "{organization}.db", parquet: copies, group: "a-{organization}" }',
      '1:63 publish.group: holds {organization}, and the folder of parquet has one group',
    ],
    ['{ to: s3://analytics/x, group: analysts }', `1:41 publish.group: ${OF_FILES}`],
    ['{ to: s3://analytics/x, keep: 7 }', `1:40 publish.keep: ${OF_FILES}`],
    [
      '{ to: s3://analytics/x, accessKeyId: AKIA }',
      '1:34 publish.accessKeyId: unknown key (known are file, parquet, to, group, keep, withoutPersonalData)',
    ],
  ])('%s is a mistake, reported where it stands', async (written, expected) => {
    expect(await mistakesIn(withPublish(written))).toEqual([`customer-mirror.yaml:${expected}`])
  })
})
