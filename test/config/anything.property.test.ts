import fc from 'fast-check'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { readConfig } from '../../src/config/read-config.ts'
import { ConfigError } from '../../src/errors/errors.ts'
import { acme, aFolder } from './configuration-folder.ts'
import { seeds } from '../support/seeds.ts'

const KEYS = [
  'mirror',
  'queue',
  'schedule',
  'defaults',
  'organizations',
  'id',
  'baseUrl',
  'apiKey',
  'secret',
  'env',
  'file',
]
const MORE_KEYS = [
  'signing',
  'headers',
  'key',
  'preset',
  'template',
  'rateLimit',
  'shared',
  'removals',
  'cron',
  '__proto__',
  '<<',
]

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

test('whatever bytes the file holds, reading it ends in a configuration or a ConfigError', async () => {
  const cwd = await aFolder()
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), (bytes) => outcome(cwd, bytes)),
    { numRuns: seeds(200) },
  )
})
