import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { shownMirror } from '../../src/address/mirror-address.ts'
import { readConfig } from '../../src/config/read-config.ts'
import { ConfigError } from '../../src/errors/errors.ts'
import { acme, aFolder, linesOf, mistakesIn } from './configuration-folder.ts'
import { heldPipe } from '../support/failing-disk.ts'
import { seeds } from '../support/seeds.ts'

const LEVELS = Array.from({ length: 9 }, (_, level) => `l${level}: &l${level} [${`*l${level - 1},`.repeat(9)}]`)

test.each([
  ['aliases that multiply', ['l-1: &l-1 [x]', ...LEVELS].join('\n'), / uses its aliases \(\*name\) too often: /],
  ['deep nesting', `mirror: ${'['.repeat(20_000)}`, /^customer-mirror.yaml:1:\d+ is nested too deeply$/],
  ['UTF-16', Buffer.from('\uFEFFmirror: a', 'utf16le'), / is not UTF-8: save it as UTF-8$/],
  ['five megabytes', `# ${'x'.repeat(5_000_000)}`, / is larger than 4096 KiB$/],
])('%s is refused with one clear line', async (_what, text, expected) => {
  expect(await mistakesIn(text)).toEqual([expect.stringMatching(expected)])
})

test('a missing file says how to get one; an empty --config and a named pipe are refused', async () => {
  const cwd = await aFolder()
  const said = (asked: object = {}) => linesOf(readConfig({ cwd, environment: {}, ...asked }))
  const advice = (init: string) => `run 'customer-mirror ${init}' to write one, or name another with --config`
  const environment = { CUSTOMER_MIRROR_CONFIG: 'other.yaml' }
  expect(await said()).toEqual([`customer-mirror.yaml does not exist: ${advice('init')}`])
  expect(await said({ environment })).toEqual([
    `other.yaml does not exist (named by CUSTOMER_MIRROR_CONFIG): ${advice('init other.yaml')}`,
  ])
  heldPipe(join(cwd, 'customer-mirror.yaml'))
  expect(await said()).toEqual(['customer-mirror.yaml is a pipe or a device, not a file'])
  expect(await said({ file: '' })).toEqual(['--config is empty: name a configuration file'])
})

test('--config wins over the environment, and the environment over the usual names', async () => {
  const named = (id: string): string => acme().replace('id: acme', `id: ${id}`)
  const cwd = await aFolder({ 'a.yaml': named('a'), 'b.yaml': named('b'), 'customer-mirror.yml': named('c') })
  const idOf = async (file: string | undefined, environment: Record<string, string>): Promise<string | undefined> =>
    (await readConfig({ cwd, file, environment })).organizations[0]?.id
  expect(await idOf('a.yaml', { CUSTOMER_MIRROR_CONFIG: 'b.yaml' })).toBe('a')
  expect(await idOf(undefined, { CUSTOMER_MIRROR_CONFIG: 'b.yaml' })).toBe('b')
  expect(await idOf(undefined, { CUSTOMER_MIRROR_CONFIG: '' })).toBe('c')
})

test('paths are relative to the folder of the file, not to where the command runs, also behind a byte order mark and Windows line ends', async () => {
  const cwd = await aFolder()
  await mkdir(join(cwd, 'etc'))
  const text = `\uFEFFmirror: m.db\n${acme().replace('{ env: ACME_SECRET }', '{ file: s.txt }')}`
  const address = 'postgres://db/customers?sslrootcert='
  const onServer = text.replace('m.db', `${address}ca.pem`)
  const folder = await aFolder({ 'c.yaml': text.replaceAll('\n', '\r\n'), 'server.yaml': onServer })
  const read = (file: string) => readConfig({ cwd, file: join(folder, file), environment: {} })
  const config = await read('c.yaml')
  expect(config.mirror).toBe(join(folder, 'm.db'))
  expect(config.organizations[0]?.secret).toEqual({ file: join(folder, 's.txt') })
  expect(decodeURIComponent((await read('server.yaml')).mirror)).toBe(`${address}${join(folder, 'ca.pem')}`)
})

test('CUSTOMER_MIRROR_MIRROR overrides the mirror of the file, and may hold a password', async () => {
  const folder = await aFolder({ 'customer-mirror.yaml': acme() })
  const read = (address: string) => readConfig({ cwd: folder, environment: { CUSTOMER_MIRROR_MIRROR: address } })
  const address = 'postgres://mirror:hunter2@db/customers'

  expect((await read(address)).mirror).toBe(address)
  expect((await read('other.db')).mirror).toBe(join(folder, 'other.db'))
  expect((await read('')).mirror).toBe(join(folder, 'data/customers.db'))
  expect(await linesOf(read('postgres://mirror:hunter2@db/a/b'))).toEqual([
    'environment CUSTOMER_MIRROR_MIRROR must name one database: write postgres://user@host:5432/database',
  ])
})

test('an address is shown without its user and password', () => {
  expect(shownMirror('postgres://mirror:hunter2@db:5433/customers?schema=a&sslmode=require')).toBe(
    'postgres://db:5433/customers?schema=a',
  )
  expect(shownMirror('postgresql://mirror:hun?ter2@db/customers')).not.toContain('ter2')
  expect(shownMirror('/data/customers.db')).toBe('/data/customers.db')
})

const KEYS = 'mirror queue schedule defaults organizations id baseUrl apiKey secret env file'.split(' ')
const MORE_KEYS = 'signing nonceHeader key preset template rateLimit shared removals cron __proto__ <<'.split(' ')

const key = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...KEYS, ...MORE_KEYS) }, fc.string())
const anything = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.jsonValue({ maxDepth: 1 }),
    fc.constantFrom('https://a.example.com', 'http://localhost', 'chain', '30s', '{ts}', 'X-Key', 'UTC'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(key, tie('value'), { maxKeys: 6 }),
  ),
})).value

/** One slip in a text that was fine: characters lost, doubled, or replaced by one that YAML has a meaning for. */
const slip = fc.tuple(
  fc.nat(),
  fc.nat(4),
  fc.constantFrom('', ':', '{', '}', '[', '"', "'", '&a ', '*a ', '!', '\t', '- ', '|', '#', '%', '@', '\0'),
)

async function outcome(cwd: string, text: string | Uint8Array): Promise<void> {
  await writeFile(join(cwd, 'customer-mirror.yaml'), text)
  try {
    await readConfig({ cwd, environment: {} })
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    expect(error instanceof ConfigError && error.message).toMatch(/^customer-mirror\.yaml\b/)
    expect(String(error)).not.toMatch(/undefined|\[object|NaN|Invalid input|Unrecognized/)
  }
}

const damaged = fc.array(slip, { minLength: 1, maxLength: 3 }).map((slips) => {
  const good = `defaults: { scan: chain, signing: { preset: ts-body } }\n${acme('removals:', '  maxShare: 0.2')}`
  return slips.reduce((before, [at, lost, put]) => {
    const start = at % before.length
    return before.slice(0, start) + put + before.slice(start + lost)
  }, good)
})

test('whatever data the file holds, and whatever damage, reading it ends in a configuration or a ConfigError', async () => {
  const cwd = await aFolder()
  const whole = anything.map((data) => stringify(data))
  const ending = fc.asyncProperty(fc.oneof(whole, damaged), (content) => outcome(cwd, content))
  await fc.assert(ending, { numRuns: seeds(800, { every: 40 }) })
})
