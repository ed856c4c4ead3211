import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readPrivacy } from '../../src/config/credentials.ts'
import type { Organization } from '../../src/config/organization.ts'
import { acme, aFolder, configOf, linesOf, mistakesIn } from './configuration-folder.ts'

const KEY = 'made up, with at least 32 characters'

const KEPT = 'must stay: it is evidence that a scan is complete, and that a list is not an older one'
const NO_KEY =
  'needs a key: make one with `openssl rand -hex 32`, and add key: { env: NAME } or key: { file: path } beside it'

test.each([
  ['id', 'drop: [id]', '6:23 organizations.0.privacy.drop.0: must stay: a customer is known by it'],
  ['created_at', 'drop: [phone, created_at]', `6:30 organizations.0.privacy.drop.1: ${KEPT}`],
  ['created_at in another spelling', 'drop: [createdAt]', `6:23 organizations.0.privacy.drop.0: ${KEPT}`],
  [
    'a misspelt field',
    'drop: [adress]',
    '6:23 organizations.0.privacy.drop.0: is not a documented field (did you mean "address"?); for a field of that name in extra, write extra. before it',
  ],
  [
    'a field in capitals',
    'drop: [Phone]',
    '6:23 organizations.0.privacy.drop.0: is not a documented field (did you mean "phone"?); for a field of that name in extra, write extra. before it',
  ],
  [
    'all of extra as a hash',
    'hash: [extra], key: { env: PRIVACY_KEY }',
    '6:23 organizations.0.privacy.hash.0: extra can be dropped as a whole; to hash fields in it, name each of them',
  ],
  [
    'a field in both lists',
    'drop: [phone], hash: [vip, phone], key: { env: PRIVACY_KEY }',
    "6:43 organizations.0.privacy.hash.1: is dropped too: keep it in one of the two lists (an organization's own list replaces the shared one)",
  ],
  ['a hash without a key', 'hash: [phone]', `6:22 organizations.0.privacy.hash: ${NO_KEY}`],
  [
    'a key in the file',
    'hash: [phone], key: hunter2-made-up',
    '6:36 organizations.0.privacy.key: must not be written into this file: put it in an environment variable and write { env: NAME }, or in a file and write { file: path }',
  ],
  [
    'two places of a key',
    'hash: [phone], key: { env: A, file: b }',
    '6:36 organizations.0.privacy.key: must have either env or file',
  ],
  [
    'a key pasted as a name',
    'hash: [phone], key: { hunter2-made-up }',
    '6:36 organizations.0.privacy.key: holds an unknown key: it must be { env: NAME } or { file: path }',
  ],
  [
    'everything that a search needs',
    'drop: [email, name], hash: [username], key: { env: PRIVACY_KEY }',
    '6:22 organizations.0.privacy.drop: hides email, username and name: a customer is searched for by one of them before it is removed. Show one of them, or set scan: plain, which removes no customer',
  ],
  [
    'a part of a field',
    'drop: [contact.phone]',
    '6:23 organizations.0.privacy.drop.0: must be a whole field: name the one that holds it; for a field with a dot in its name, write extra. before it',
  ],
  ['a number', 'drop: [1]', '6:23 organizations.0.privacy.drop.0: must be text: put it in quotes'],
  [
    'one field without a list',
    'drop: phone',
    '6:22 organizations.0.privacy.drop: must be a list, each item on its own line after a dash',
  ],
  ['a name of spaces', 'drop: [" "]', '6:23 organizations.0.privacy.drop.0: must be the name of a field'],
  ['a misspelt list', 'dorp: [phone]', '6:16 organizations.0.privacy.dorp: unknown key (did you mean "drop"?)'],
])('a policy with %s is placed and explained', async (_what, written, line) => {
  const lines = await mistakesIn(acme(`privacy: { ${written} }`))
  expect(lines).toEqual([`customer-mirror.yaml:${line}`])
  expect(lines.join('\n')).not.toContain('hunter2')
})

test('a plain scan removes no customer, so everything may be hidden', async () => {
  const [organization] = (await configOf(acme('scan: plain', 'privacy: { drop: [email, name, username] }')))
    .organizations
  expect(organization?.privacy).toEqual({ drop: ['email', 'name', 'username'], hash: [], key: undefined })
})

test('the shared policy holds for every organization, and lists of its own replace the shared ones', async () => {
  const shared = `defaults:\n  privacy: { drop: [address], hash: [phone], key: { file: keys/privacy } }\n`
  const config = await configOf(
    `${shared}${acme('privacy: { drop: [] }')}${acme().slice('organizations:\n'.length).replace('acme', 'globex').replace('acme.', 'globex.')}`,
  )
  const key = { file: expect.stringMatching(/keys\/privacy$/) }
  expect(config.organizations.map(({ privacy }) => privacy)).toEqual([
    { drop: [], hash: ['phone'], key },
    { drop: ['address'], hash: ['phone'], key },
  ])
  expect(
    (await configOf(`${shared}${acme('privacy: { drop: [], hash: [] }')}`)).organizations[0]?.privacy,
  ).toBeUndefined()
})

test('a mistake that comes of both is placed where it can be corrected', async () => {
  const shared = 'defaults:\n  privacy: { hash: [phone], key: { env: PRIVACY_KEY } }\n'
  expect(await mistakesIn(`${shared}${acme('privacy: { drop: [phone] }')}`)).toEqual([
    expect.stringMatching(/^customer-mirror.yaml:2:21 defaults.privacy.hash.0: is dropped too/),
  ])
})

function organizationWith(privacy: Organization['privacy']): Pick<Organization, 'id' | 'privacy'> {
  return { id: 'acme', privacy }
}

/** A day after the files of these tests were written. */
const AT_REST = {
  now: () => Date.now() + 86_400_000,
  sleep: async () => expect.unreachable('no file was written a moment ago'),
  signal: new AbortController().signal,
}

test.each([
  ['is whole', (file: string) => readFileSync(file, 'utf8'), /^is read$/],
  ['was written in part', () => `${KEY}${KEY}\n`, /was changed while it was read: wait until/],
])('a key file that was written a moment ago, and %s, is read again after a rest', async (_, later, said) => {
  const file = join(await aFolder({ key: `${KEY}\n` }), 'key')
  const rests: number[] = []
  const sleep = async (ms: number) => {
    rests.push(ms)
    writeFileSync(file, later(file))
  }
  const { mtimeMs } = statSync(file)
  const reading = readPrivacy(
    organizationWith({ drop: [], hash: ['phone'], key: { file } }),
    { ...AT_REST, now: () => mtimeMs + 10, sleep },
    {},
  )

  expect(await reading.then(() => 'is read', String)).toMatch(said)
  expect(rests).toEqual([1000])
})

test('the key comes from a file or the environment, and shows in no message', async () => {
  const file = join(await aFolder({ key: `${KEY}\n`, empty: '\n', short: 'hunter2-made-up' }), 'key')
  const hashed = (key: { env: string } | { file: string }) => organizationWith({ drop: [], hash: ['phone'], key })
  const fromFile = await readPrivacy(hashed({ file }), AT_REST, {})
  const fromEnvironment = await readPrivacy(hashed({ env: 'PRIVACY_KEY' }), AT_REST, { PRIVACY_KEY: KEY })
  expect(fromFile.hashOf('x')).toBe(fromEnvironment.hashOf('x'))
  expect(JSON.stringify(fromFile)).not.toContain(KEY)

  const what = '(the privacy key of organization acme)'
  const linesFor = (name: string) => linesOf(readPrivacy(hashed({ file: file.replace(/key$/, name) }), AT_REST, {}))
  expect(await linesFor('absent')).toEqual([expect.stringContaining(`${what} does not exist: create it`)])
  expect(await linesFor('empty')).toEqual([expect.stringContaining(`${what} is empty`)])
  expect(await linesFor('short')).toEqual([
    expect.stringMatching(/must have at least 32 characters: make one with `openssl rand/),
  ])
  expect((await linesFor('short')).join('\n')).not.toContain('hunter2')
})
