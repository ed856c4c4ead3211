import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { aServe, SHOP } from './a-served-mirror.ts'
import { aMirrorOf } from '../store/nights.ts'
import { aCustomer, customers } from '../support/builders.ts'
import { withPython } from '../support/reader-machine.ts'
import { startCli } from '../support/run-cli.ts'
import { seeds } from '../support/seeds.ts'
import { temporaryFolder } from '../support/mirror-file.ts'

/** A server of 231 customers, one of them with odd values, and a Python to run something against it. */
async function served(python: string) {
  const odd = aCustomer(300, { name: 'Ünï\u{1F600} "quoted"', phone: null, email: undefined, vip: { level: 1 } })
  const { file } = await aMirrorOf([...customers(1, 230), odd])
  const { origin } = await aServe(file)
  const env = {
    ...{ SHOP_API_KEY: SHOP.apiKey, SHOP_SECRET: SHOP.secret, HOME: temporaryFolder() },
    ...{ PYTHONPATH: import.meta.dirname, PYTHONDONTWRITEBYTECODE: '1', SCHEMATHESIS_HOOKS: 'signing_hook' },
  }
  const run = async (...args: string[]) => startCli(args, { cwd: temporaryFolder(), env, program: python }).ended
  return { document: `${origin}/openapi.json`, run }
}

test('whatever is asked for, the answer is a page or an error as /openapi.json describes them', async () => {
  const { file } = await aMirrorOf(customers(1, 230))
  const { ask } = await aServe(file)
  const text = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.integer().map(String))
  const query = fc.record({ per_page: text, page: text, search: text, language: text }, { requiredKeys: [] })
  await fc.assert(
    fc.asyncProperty(query, async (parameters) => {
      const { status } = await ask(`/customers?${new URLSearchParams(parameters).toString()}`)
      expect([200, 422]).toContain(status)
    }),
    { numRuns: seeds(500, { least: 50 }) },
  )
})

/** The hook makes every key and signature right; and the service answers other methods with 404, since the specification names no 405. */
const NOT_CHECKED = 'ignored_auth,unsupported_method'

withPython('schemathesis', ['schemathesis'], (python) => {
  test('schemathesis finds no request that is answered otherwise than /openapi.json says', async () => {
    const { document, run } = await served(python)
    const options = ['--max-examples', '100', '--seed', '1', '--no-color', '--exclude-checks', NOT_CHECKED]
    const { code, stdout, stderr } = await run('-m', 'schemathesis.cli', 'run', document, ...options)

    expect(code, stdout + stderr).toBe(0)
    expect(stdout).toMatch(/Tested: 1\b/)
    const [, cases = '0'] = /(\d+) generated/.exec(stdout) ?? []
    expect(Number(cases)).toBeGreaterThan(50)
  })
})

withPython('openapi-spec-validator', ['openapi_spec_validator'], (python) => {
  test('/openapi.json is valid OpenAPI', async () => {
    const { document, run } = await served(python)
    const file = join(temporaryFolder(), 'openapi.json')
    writeFileSync(file, await (await fetch(document)).text())
    const { code, stdout, stderr } = await run('-m', 'openapi_spec_validator', file)

    expect(code, stdout + stderr).toBe(0)
    expect(stdout).toContain('OK')
  })
})
