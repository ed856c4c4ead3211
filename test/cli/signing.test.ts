import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { listen } from '../../src/http/server.ts'
import { BASE_PATH, createService } from '../../src/service/app.ts'
import { generateCustomers } from '../../src/service/customers.ts'
import { HEADERS, PRESETS, type Recipe, recipeOf, FORMS, signedHeaders } from '../../src/signing/signing.ts'
import { customersUrl } from '../../src/source/customers-page.ts'
import { runCli, failing } from '../support/run-cli.ts'
import { someOf } from '../support/seeds.ts'
import { aWorkplace, organizationsOf } from '../support/workplace.ts'

const KEY = 'unmistakable-key-5150'
const SECRET = 'unmistakable-secret-2112'
const PRESET_NAMES = Object.keys(PRESETS).filter((name): name is keyof typeof PRESETS => name in PRESETS)

/** `signing explain` for acme, whose secret is in the environment unless `env` says otherwise. */
function explained(signing: object, env: Record<string, string> = { ACME_API_KEY: KEY, ACME_SECRET: SECRET }) {
  const credentials = { apiKey: { env: 'ACME_API_KEY' }, secret: { env: 'ACME_SECRET' } }
  const acme = { id: 'acme', baseUrl: 'https://acme.orders.example.com/api/v1', ...credentials, signing }
  return aWorkplace([acme]).run('signing explain acme', { env })
}

test('explain shows the exact string that is signed, line by line, also before the secrets are there, and says which are missing', async () => {
  const { code, stdout, stderr } = await explained({})

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/\n {2}\| GET\n {2}\| \/api\/v1\/customers\?page=1&per_page=100\n {2}\| \d{10}\n {2}\| \n/)
  const missing = expect.stringContaining('(not found: environment ACME_SECRET')
  expect(await explained({}, { ACME_API_KEY: KEY })).toMatchObject({ code: 0, stdout: missing })
})

test.each([
  ['the usual recipe', {}],
  ['a recipe that signs the key', { preset: 'key-ts' }],
  ['another encoding, with a prefix', { encoding: 'base64', prefix: 'sha256=' }],
  ['a nonce', { template: '{METHOD}\n{target}\n{ts}\n{nonce}\n{api_key}' }],
])('explain with %s shows neither key, nor secret, nor signature', async (_, signing) => {
  const { code, stdout, stderr } = await explained(signing)
  const said = stdout + stderr

  expect(code).toBe(0)
  for (const secret of [KEY, SECRET]) expect(said).not.toContain(secret)
  // Nothing as long as a signature in hex or base64 stands anywhere.
  expect(said.match(/[0-9a-f]{64}|[\w+/-]{43}=?(?![\w+/-])/g)).toBeNull()
  expect(said).toContain('<API_KEY>')
  expect(said).toContain('<SECRET> (found)')
})

/** One request that a service with this recipe accepts, as the user of `signing solve` knows it. */
async function aKnownRequest(recipe: Recipe) {
  const secret = Buffer.from('of a made-up service').toString(recipe.secretEncoding)
  const credentials = { apiKey: 'made-up-key', secret }
  const customers = generateCustomers({ seed: '1', count: 3 })
  const signed = { id: 'acme', ...credentials, recipe, customers: { list: () => customers } }
  const place = { host: '127.0.0.1', port: 0 }
  const { origin, close } = await listen(createService({ organizations: [signed], now: Date.now }), place)
  onTestFinished(close)
  const organization = { ...signed, baseUrl: origin + BASE_PATH, customers }
  const url = customersUrl(new URL(organization.baseUrl), { page: 1, size: 100 })
  const headers = signedHeaders({ method: 'GET', url }, organization, { unixMs: Date.now() }, recipe)
  const request = [
    ...['--url', url.href, '--timestamp', headers[HEADERS.timestamp] ?? ''],
    `--signature=${headers[HEADERS.signature] ?? ''}`,
  ]
  const env = { THE_SECRET: organization.secret, THE_KEY: organization.apiKey }
  const named = ['--secret-env', 'THE_SECRET', '--api-key-env', 'THE_KEY']
  const solve = (args: readonly string[], also: Record<string, string> = {}) =>
    runCli(['signing', 'solve', ...request, ...args], { cwd: '/', env: { ...env, ...also } })
  return { organization, solve, named }
}

const RECIPES: Recipe[] = [
  ...PRESET_NAMES.flatMap((preset) => FORMS.encoding.map((encoding) => ({ ...recipeOf(preset), encoding }))),
  ...[
    ...FORMS.secretEncoding.map((secretEncoding) => ({ secretEncoding })),
    ...FORMS.timestamp.map((timestamp) => ({ timestamp })),
    { prefix: 'v1=', encoding: 'base64', secretEncoding: 'hex', timestamp: 'iso' } as const,
  ].map((settings) => ({ ...recipeOf('ts-method-path-body-lf'), ...settings })),
]

test.each(someOf(RECIPES, { every: 5 }))('solve finds %j, and what it prints mirrors the service', async (recipe) => {
  const { organization, solve, named } = await aKnownRequest(recipe)
  const { code, stdout, stderr } = await solve(named)
  const place = aWorkplace(organizationsOf({ organizations: [organization] }, parse(stdout)))

  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^Found\./) })
  expect((await place.json('sync')).runs).toMatchObject([{ status: 'complete', inserted: 3, error: null }])
})

test('solve with the wrong secret ends with 3 and explains what to check', async () => {
  const { organization, solve, named } = await aKnownRequest(recipeOf('ts-body'))

  const refused = await solve(named, { THE_SECRET: `${organization.secret}-but-not-quite` })
  expect(refused).toMatchObject(failing(3, /No preset makes this.*Check that/s))
  const odd = 'signing solve --url https://x.test --timestamp 2026-01-05 --signature x --secret-env X'.split(' ')
  expect(await runCli(odd, { cwd: '/', env: { X: 'x' } })).toMatchObject(failing(2, 'must be as it was sent'))
})
