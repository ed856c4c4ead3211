import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { readCredentials, readPrivacy } from '../../src/config/credentials.ts'
import type { Organization } from '../../src/config/organization.ts'
import type { SecretReference } from '../../src/config/values.ts'
import { DEFAULT_PRESET, recipeOf, type SecretEncoding } from '../../src/signing/signing.ts'
import { acme, aFolder, configOf, globex, linesOf } from './configuration-folder.ts'

afterEach(() => vi.unstubAllEnvs())

function stub(environment: Record<string, string>): void {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
}

type Part = Pick<Organization, 'id' | 'apiKey' | 'secret' | 'signing'>

function anOrganization(secret: SecretReference, secretEncoding: SecretEncoding = 'utf8'): Part {
  return { id: 'acme', apiKey: { env: 'KEY' }, secret, signing: { ...recipeOf(DEFAULT_PRESET), secretEncoding } }
}

test('a secret comes from the environment or from a file, whose last line break is no part of it', async () => {
  const file = join(await aFolder({ secret: 'made up secret\r\n' }), 'secret')
  stub({ KEY: 'k-1', SECRET: 's-1' })
  const fromEnvironment = await readCredentials(anOrganization({ env: 'SECRET' }))
  expect(fromEnvironment).toEqual({ apiKey: 'k-1', secret: 's-1' })
  expect((await readCredentials(anOrganization({ file }))).secret).toBe('made up secret')
})

test.each([
  ['empty', '', 'utf8', /is empty/],
  ['two lines', 'hunter2-made-up\nb', 'utf8', /must be one line/],
  ['quoted', '"hunter2-made-up"', 'utf8', /wrapped in quotes/],
  ['odd hex', 'abc', 'hex', /is not valid hex, which signing\.secretEncoding says it is/],
  ['base64url for base64', 'hunter2-made-up_', 'base64', /is not valid base64,/],
  ['no base64url', 'hunter2+made+up', 'base64url', /is not valid base64url/],
] as const)('a secret that is %s is explained and never shown', async (_what, SECRET, encoding, expected) => {
  stub({ KEY: 'k', SECRET })
  const lines = await linesOf(readCredentials(anOrganization({ env: 'SECRET' }, encoding)))
  expect(lines).toEqual([expect.stringMatching(/^environment SECRET \(the secret of organization acme\) /)])
  expect(lines[0]).toMatch(expected)
  expect(lines[0]).not.toContain('hunter2')
})

test('a key that no header can carry is refused', async () => {
  stub({ KEY: 'clé', SECRET: 's' })
  expect(await linesOf(readCredentials(anOrganization({ env: 'SECRET' })))).toEqual([
    'environment KEY (the API key of organization acme) has characters that cannot be sent in a header: copy the key again',
  ])
})

test.each(['', '/0', '?family=6&prefix=night'])('the address of a queue in Redis may end with "%s"', async (end) => {
  const address = `rediss://queue.example.com:6380${end}`
  expect((await configOf(`queue: ${address}\n${acme()}`)).queue).toBe(address)
})

const PRIVACY_KEY = 'made up, with at least 32 characters'

test('the shared policy holds for every organization, and lists of its own replace the shared ones', async () => {
  const shared = `defaults:\n  privacy: { drop: [address], hash: [phone], key: { file: keys/privacy } }\n`
  const config = await configOf(shared + acme('privacy: { drop: [] }') + globex())
  const key = { file: expect.stringMatching(/keys\/privacy$/) }
  expect(config.organizations.map(({ privacy }) => privacy)).toEqual([
    { drop: [], hash: ['phone'], key },
    { drop: ['address'], hash: ['phone'], key },
  ])
  const [none] = (await configOf(shared + acme('privacy: { drop: [], hash: [] }'))).organizations
  expect(none?.privacy).toBeUndefined()
})

test('the key comes from a file or the environment, and shows in no message', async () => {
  const file = join(await aFolder({ key: `${PRIVACY_KEY}\n`, empty: '\n', short: 'hunter2-made-up' }), 'key')
  const hashed = (key: SecretReference): Pick<Organization, 'id' | 'privacy'> => {
    return { id: 'acme', privacy: { drop: [], hash: ['phone'], key } }
  }
  stub({ PRIVACY_KEY })
  const fromFile = await readPrivacy(hashed({ file }))
  const fromEnvironment = await readPrivacy(hashed({ env: 'PRIVACY_KEY' }))
  expect(fromFile.hashOf('x')).toBe(fromEnvironment.hashOf('x'))
  expect(JSON.stringify(fromFile)).not.toContain(PRIVACY_KEY)

  const what = '(the privacy key of organization acme)'
  const linesFor = (name: string) => linesOf(readPrivacy(hashed({ file: file.replace(/key$/, name) })))
  expect(await linesFor('absent')).toEqual([expect.stringContaining(`${what} does not exist: create it`)])
  expect(await linesFor('empty')).toEqual([expect.stringContaining(`${what} is empty`)])
  const short = (await linesFor('short')).join('\n')
  expect(short).toMatch(/^.* must have at least 32 characters: make one with `openssl rand.*$/)
  expect(short).not.toContain('hunter2')
})
