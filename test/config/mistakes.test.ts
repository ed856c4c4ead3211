import { describe, expect, test } from 'vitest'
import { acme, configOf, mistakesIn } from './configuration-folder.ts'
import { dirname, join } from 'node:path'

/** Lines 6 and on belong to the organization. */
test.each([
  ['misspelt key', 'pageSise: 10', '6:5 organizations.0.pageSise: unknown key (did you mean "pageSize"?)'],
  ['misplaced key', 'queue: embedded', '6:5 organizations.0.queue: belongs at the top level'],
  [
    'merge key',
    '<<: { scan: chain }',
    '6:5 organizations.0.<<: unknown key: merge keys are not supported, put shared settings under defaults',
  ],
  ['page too large', 'pageSize: 101', '6:15 organizations.0.pageSize: must be a whole number from 1 to 100'],
  [
    'bare number as duration',
    'maxWait: 15',
    '6:14 organizations.0.maxWait: must be a duration such as 500ms, 30s, 15m, 6h or 1d',
  ],
  [
    'kept for less than a day',
    'retention: { changes: 12h }',
    '6:27 organizations.0.retention.changes: must be a duration from 1d to 36500d, such as 365d, or forever',
  ],
  ['misspelt value', 'scan: chian', '6:11 organizations.0.scan: must be one of chain, plain (did you mean "chain"?)'],
  [
    'share in percent',
    'removals: { maxShare: 10 }',
    '6:27 organizations.0.removals.maxShare: must be a number from 0 to 1, such as 0.1 for a tenth',
  ],
  [
    'nothing after the colon',
    'rateLimit:',
    '6:15 organizations.0.rateLimit: is empty: give it a value, or remove the key',
  ],
  ['list for a mapping', 'rateLimit: [600]', '6:16 organizations.0.rateLimit: must be a mapping of keys to values'],
  [
    'template without time',
    'signing: { template: "{METHOD}" }',
    '6:26 organizations.0.signing.template: must contain {ts}, or a captured request could be replayed for ever',
  ],
  [
    'two forms',
    'signing: { preset: ts-body, template: "{ts}" }',
    '6:33 organizations.0.signing.template: excludes preset: keep one of the two',
  ],
  [
    'header in use',
    'signing: { headers: { key: Host } }',
    '6:32 organizations.0.signing.headers.key: is a header every request already has: choose another name',
  ],
  [
    'same header twice',
    'signing: { headers: { key: x-signature } }',
    '6:32 organizations.0.signing.headers.key: has the same name as the header of the signature: every header needs its own',
  ],
  [
    'six cron fields',
    'schedule: { cron: "0 0 2 * * *", timezone: UTC }',
    '6:23 organizations.0.schedule.cron: must have five fields, such as "0 2 * * *" for every night at two',
  ],
  [
    'misspelt zone',
    'schedule: { cron: "0 2 * * *", timezone: Europe/Pari }',
    '6:46 organizations.0.schedule.timezone: must be a time zone such as Europe/Paris or UTC (did you mean "Europe/Paris"?)',
  ],
  [
    'schedule without zone',
    'schedule: { cron: "0 2 * * *" }',
    '6:15 organizations.0.schedule.timezone: is missing, and there is no schedule at the top level to take it from',
  ],
])('%s is reported where it stands', async (_what, line, expected) => {
  expect(await mistakesIn(acme(line))).toEqual([`customer-mirror.yaml:${expected}`])
})

test('a secret that is empty is one mistake', async () => {
  expect(await mistakesIn(acme().replace(/apiKey: .*/, 'apiKey: ""'))).toEqual([
    'customer-mirror.yaml:4:13 organizations.0.apiKey: is empty: write { env: NAME } or { file: path }',
  ])
})

test.each([
  ['http://acme.example.com/api/v1', 'must be an https URL (plain http is accepted for this machine only)'],
  ['ftp://acme.example.com', 'must be an https URL such as https://acme.orders.example.com/api/v1'],
  [
    'https://user:pass@acme.example.com',
    'must not hold a user name or password: credentials belong in apiKey and secret',
  ],
  ['https://acme.example.com/?page=1', 'must end with the path: remove the ? or # and what follows'],
  [
    'https://acme.example.com/api/v1/customers/',
    'must be the address above /customers: remove /customers from the end',
  ],
])('the base address %s is refused', async (address, message) => {
  const text = acme().replace('https://acme.example.com/api/v1', address)
  expect(await mistakesIn(text)).toEqual([`customer-mirror.yaml:3:14 organizations.0.baseUrl: ${message}`])
})

test('every mistake in the file is reported at once, in the order of the file', async () => {
  const text = `mirror: 3
pageSize: 50
schedule: { cron: "0 2 * *", timezone: UTC }
defaults: { scan: fast }
organizations:
  - id: Acme
    baseUrl: http://acme.example.com
    apiKey: made-up-key
    secret: { env: A, file: b }
  - id: globex
    baseUrl: https://globex.example.com/api/v1
    apiKey: { env: GLOBEX_KEY }
  - id: globex
    baseUrl: https://globex.example.com/api/v1/
    apiKey: { env: GLOBEX_KEY }
    secret: { env: $GLOBEX }
`
  const places = (await mistakesIn(text)).map((line) => line.split(': ')[0])
  expect(places).toEqual([
    'customer-mirror.yaml:1:9 mirror',
    'customer-mirror.yaml:2:1 pageSize',
    'customer-mirror.yaml:3:19 schedule.cron',
    'customer-mirror.yaml:4:19 defaults.scan',
    'customer-mirror.yaml:6:9 organizations.0.id',
    'customer-mirror.yaml:7:14 organizations.0.baseUrl',
    'customer-mirror.yaml:8:13 organizations.0.apiKey',
    'customer-mirror.yaml:9:13 organizations.0.secret',
    'customer-mirror.yaml:10:5 organizations.1.secret',
    'customer-mirror.yaml:13:9 organizations.2.id',
    'customer-mirror.yaml:14:14 organizations.2.baseUrl',
    'customer-mirror.yaml:16:20 organizations.2.secret.env',
  ])
})

test('mistakes in a JSON file have a line and a column too', async () => {
  const json = JSON.stringify(
    { organizations: [{ id: 'acme', baseUrl: 'https://acme.example.com', apiKey: 7 }] },
    null,
    '\t',
  )
  expect(await mistakesIn(json, 'customer-mirror.json')).toEqual([
    'customer-mirror.json:3:3 organizations.0.secret: is missing: it must be { env: NAME } or { file: path }',
    'customer-mirror.json:6:14 organizations.0.apiKey: must be { env: NAME } or { file: path }',
  ])
})

test('two organizations may share an address with different keys', async () => {
  const twin = acme()
    .replace('organizations:\n', '')
    .replace('id: acme', 'id: twin')
    .replace('ACME_API_KEY', 'TWIN_KEY')
  expect((await configOf(acme() + twin)).organizations.map(({ id }) => id)).toEqual(['acme', 'twin'])
})

test('organizations that share a limit must agree on it', async () => {
  const globex = acme('rateLimit: { shared: all, requestsPerMinute: 30 }').replaceAll(/acme/gi, 'globex')
  const text = acme('rateLimit: { shared: all, requestsPerMinute: 60 }') + globex.replace('organizations:\n', '')
  expect(await mistakesIn(text)).toEqual([
    'customer-mirror.yaml:11:16 organizations.1.rateLimit: shares a limit with organizations.0 but differs in requestsPerMinute: give both the same',
  ])
})

test('a mistake under defaults is reported once, however many organizations inherit it', async () => {
  const second = acme().replace('organizations:\n', '').replaceAll(/acme/gi, 'globex')
  expect(await mistakesIn(`defaults: { signing: { headers: { key: X-Nonce } } }\n${acme()}${second}`)).toHaveLength(1)
})

const withNotify = (notify: string) => `notify: ${notify}\n${acme()}`

describe('notify and heartbeat in the configuration', () => {
  test('all settings; the file of the secret is relative to the folder of the configuration', async () => {
    const text = withNotify('{ url: "https://hooks.example.com/x?y=1", secret: { file: ./secret }, only: failures }')
    const { file, notify, heartbeat } = await configOf(`heartbeat: { url: "http://127.0.0.1:9/ping" }\n${text}`)

    expect(notify).toEqual({
      url: new URL('https://hooks.example.com/x?y=1'),
      secret: { file: join(dirname(file), 'secret') },
      only: 'failures',
    })
    expect(heartbeat).toEqual({ url: new URL('http://127.0.0.1:9/ping') })
  })

  test.each([
    ['{}', 'notify.url: is missing'],
    ['{ url: "https://me:t0ken@hooks.example.com" }', 'notify.url: must not hold a user name or password'],
    ['{ url: "https://hooks.example.com/#t0ken" }', 'notify.url: must not hold a #'],
    ['{ url: "https://x.example", secret: t0ken }', 'notify.secret: must not be written into this file'],
    ['{ url: "https://x.example", only: failure }', 'notify.only: must be failures, or left out'],
  ])('%s', async (written, mistake) => {
    const mistakes = (await mistakesIn(withNotify(written))).join('\n')

    expect(mistakes).toContain(mistake)
    expect(mistakes).not.toContain('t0ken')
  })
})
