import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { readConfig } from '../../src/config/read-config.ts'
import { ConfigError } from '../../src/errors/errors.ts'
import { acme, aFolder, configOf, linesOf, mistakesIn } from './configuration-folder.ts'
import { heldPipe } from '../support/failing-disk.ts'
import { seeds } from '../support/seeds.ts'

const LEVELS = Array.from({ length: 9 }, (_, level) => `l${level}: &l${level} [${`*l${level - 1},`.repeat(9)}]`)

test.each([
  [
    'aliases that multiply',
    ['l-1: &l-1 [x]', ...LEVELS].join('\n'),
    'customer-mirror.yaml uses its aliases (*name) too often: write the values out',
  ],
  [
    'deep nesting',
    `mirror: ${'['.repeat(20_000)}`,
    expect.stringMatching(/^customer-mirror.yaml:1:\d+ is nested too deeply$/),
  ],
  ['UTF-16', Buffer.from('\uFEFFmirror: a', 'utf16le'), 'customer-mirror.yaml is not UTF-8: save it as UTF-8'],
  ['five megabytes', `# ${'x'.repeat(5_000_000)}`, 'customer-mirror.yaml is larger than 4096 KiB'],
])('%s is refused with one clear line', async (_what, text, expected) => {
  expect(await mistakesIn(text)).toEqual([expected])
})

test('a missing file says how to get one', async () => {
  const cwd = await aFolder()
  expect(await linesOf(readConfig({ cwd, environment: {} }))).toEqual([
    "customer-mirror.yaml does not exist: run 'customer-mirror init' to write one, or name another with --config",
  ])
  expect(await linesOf(readConfig({ cwd, environment: { CUSTOMER_MIRROR_CONFIG: 'other.yaml' } }))).toEqual([
    "other.yaml does not exist (named by CUSTOMER_MIRROR_CONFIG): run 'customer-mirror init' to write one, or name another with --config",
  ])
})

test('an empty --config is refused instead of reading another file', async () => {
  const cwd = await aFolder({ 'customer-mirror.yaml': acme() })
  expect(await linesOf(readConfig({ cwd, file: '', environment: {} }))).toEqual([
    '--config is empty: name a configuration file',
  ])
})

test('a named pipe is refused', async () => {
  const cwd = await aFolder()
  heldPipe(join(cwd, 'customer-mirror.yaml'))
  expect(await linesOf(readConfig({ cwd, environment: {} }))).toEqual(['customer-mirror.yaml is a pipe, not a file'])
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

test('paths are relative to the folder of the file, not to where the command runs', async () => {
  const cwd = await aFolder()
  await mkdir(join(cwd, 'etc'))
  const folder = await aFolder({
    'c.yaml': `mirror: m.db\n${acme().replace('{ env: ACME_SECRET }', '{ file: s.txt }')}`,
  })
  const config = await readConfig({ cwd, file: join(folder, 'c.yaml'), environment: {} })
  expect(config.mirror).toBe(join(folder, 'm.db'))
  expect(config.organizations[0]?.secret).toEqual({ file: join(folder, 's.txt') })
})

test('a byte order mark and Windows line ends are fine', async () => {
  const config = await configOf(`\uFEFF${acme().replaceAll('\n', '\r\n')}`)
  expect(config.organizations[0]?.apiKey).toEqual({ env: 'ACME_API_KEY' })
})

const KEYS = 'mirror queue schedule defaults organizations id baseUrl apiKey secret env file'.split(' ')
const MORE_KEYS = 'signing nonceHeader key preset template rateLimit shared removals cron __proto__ <<'.split(' ')

const anything = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.jsonValue({ maxDepth: 1 }),
    fc.constantFrom('https://a.example.com', 'http://localhost', 'chain', '30s', '{ts}', 'X-Key', 'UTC'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(
      fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...KEYS, ...MORE_KEYS) }, fc.string()),
      tie('value'),
      { maxKeys: 6 },
    ),
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
    expect(error instanceof ConfigError && error.problems.length).toBeGreaterThan(0)
    expect(String(error)).not.toMatch(/undefined|\[object|NaN|Invalid input|Unrecognized/)
  }
}

test('whatever data the file holds, reading it ends in a configuration or a ConfigError', async () => {
  const cwd = await aFolder()
  await fc.assert(
    fc.asyncProperty(anything, (data) => outcome(cwd, stringify(data))),
    { numRuns: seeds(300) },
  )
})

test('a good file with any damage ends in a configuration or a ConfigError', async () => {
  const cwd = await aFolder()
  const good = `defaults: { scan: chain, signing: { preset: ts-body } }\n${acme('removals:', '  maxShare: 0.2')}`
  await fc.assert(
    fc.asyncProperty(fc.array(slip, { minLength: 1, maxLength: 3 }), (slips) => {
      const text = slips.reduce((before, [at, lost, put]) => {
        const start = at % before.length
        return before.slice(0, start) + put + before.slice(start + lost)
      }, good)
      return outcome(cwd, text)
    }),
    { numRuns: seeds(500) },
  )
})
