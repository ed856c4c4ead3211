import { expect, test } from 'vitest'
import { UsageError } from '../../src/errors/errors.ts'
import { startSandbox } from '../../src/service/sandbox.ts'
import type { Sandbox } from '../../src/service/sandbox.ts'
import { recipeOf } from '../../src/signing/signing.ts'
import { aSandbox } from '../support/workplace.ts'
import { ask, list } from './ask.ts'

test('every organization is served its own customers, and no id is shared', async () => {
  const { organizations } = await aSandbox({ customers: [120, 50, 7, 3] })
  expect(organizations.map(({ id }) => id)).toEqual(['acme', 'globex', 'initech', 'org-4'])
  for (const organization of organizations) {
    const { data, meta } = list(await ask(organization, '/customers?per_page=100'))
    expect(data).toEqual(organization.customers.slice(0, 100))
    expect(meta.total).toBe(organization.customers.length)
  }
  expect(new Set(organizations.flatMap(({ customers }) => customers.map(({ id }) => id))).size).toBe(180)
})

test('the same seed gives the same keys, secrets and customers; another seed gives others', async () => {
  const [one, same, other] = [
    await aSandbox({ seed: 'x' }),
    await aSandbox({ seed: 'x' }),
    await aSandbox({ seed: 'y' }),
  ]
  const facts = (sandbox: Sandbox) => sandbox.organizations.map((each) => ({ ...each, baseUrl: 'its own port' }))
  expect(facts(one)).toEqual(facts(same))
  expect(one.organizations[0]?.apiKey).toMatch(/^sandbox_key_acme_[0-9a-f]{24}$/)
  expect(other.organizations[0]?.apiKey).not.toBe(one.organizations[0]?.apiKey)
  expect(other.organizations[0]?.secret).not.toBe(one.organizations[0]?.secret)
  expect(other.organizations[0]?.customers[0]?.id).not.toBe(one.organizations[0]?.customers[0]?.id)
})

test('a limit for one organization goes before the limit for all', async () => {
  const { organizations } = await aSandbox({
    customers: 5,
    rateLimits: [
      { organization: 'globex', requests: 8, windowMs: 5000 },
      { requests: 60, windowMs: 60_000 },
    ],
  })
  const limits = await Promise.all(organizations.map((organization) => ask(organization, '/customers')))
  expect(limits.map(({ headers }) => headers.get('X-RateLimit-Limit'))).toEqual(['60', '8', '60'])
})

test('an organization can be forbidden to read its customers', async () => {
  const { organizations } = await aSandbox({ customers: 5, forbidden: ['initech'] })
  const answers = await Promise.all(organizations.map((organization) => ask(organization, '/customers')))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 403])
})

test.each(['utf8', 'hex', 'base64', 'base64url'] as const)('secrets can be decoded from %s', async (secretEncoding) => {
  const recipe = { ...recipeOf('laravel-path'), secretEncoding, encoding: 'base64' as const, timestamp: 'ms' as const }
  const { organizations } = await aSandbox({ customers: 1, recipe })
  const { secret } = organizations[0] ?? { secret: '' }
  expect(Buffer.from(secret, secretEncoding).toString(secretEncoding)).toBe(secret)
  for (const organization of organizations) expect((await ask(organization, '/customers', { recipe })).status).toBe(200)
})

test.each([
  [
    'more lists than organizations',
    { organizations: 2, customers: [1, 2, 3] },
    '3 numbers of customers for 2 organizations',
  ],
  [
    'a limit for an unknown organization',
    { rateLimits: [{ organization: 'acne', requests: 1, windowMs: 1 }] },
    'It has acme, globex, initech.',
  ],
  ['an unknown organization forbidden', { forbidden: ['org-9'] }, 'no organization "org-9"'],
  ['more customers than fit', { customers: 1_000_000, organizations: 9 }, 'more than the sandbox can hold in memory'],
])('%s is refused', async (_, options, message) => {
  const start = startSandbox(options)
  await expect(start).rejects.toThrow(UsageError)
  await expect(start).rejects.toThrow(message)
})
