import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { signingCommand } from '../../src/cli/signing.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { customersUrl } from '../../src/source/customers-page.ts'
import {
  type PresetName,
  PRESETS,
  type Recipe,
  recipeOf,
  SECRET_ENCODINGS,
  SIGNATURE_ENCODINGS,
  signedHeaders,
  TIMESTAMP_FORMS,
} from '../../src/signing/signing.ts'
import { heldPipe } from '../support/failing-disk.ts'
import { onlyRun } from '../support/json-page.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { someOf } from '../support/seeds.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

const KEY = 'unmistakable-key-5150'
const SECRET = 'unmistakable-secret-2112'
const PRESET_NAMES = Object.keys(PRESETS).filter((name): name is PresetName => name in PRESETS)

function explained(signing: object) {
  const { config, folder } = aWorkplace([
    {
      id: 'acme',
      baseUrl: 'https://acme.orders.example.com/api/v1',
      apiKey: { env: 'ACME_API_KEY' },
      secret: { env: 'ACME_SECRET' },
      signing,
    },
  ])
  const env = { ACME_API_KEY: KEY, ACME_SECRET: SECRET }
  return runCli(['signing', 'explain', 'acme', '--config', config], { cwd: folder, env })
}

test('explain shows the exact string that is signed, line by line', async () => {
  const { code, stdout, stderr } = await explained({})

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('GET https://acme.orders.example.com/api/v1/customers?page=1&per_page=100\n')
  expect(stdout).toContain('preset method-target-ts-body-lf')
  expect(stdout).toMatch(/\n {2}\| GET\n {2}\| \/api\/v1\/customers\?page=1&per_page=100\n {2}\| \d{10}\n {2}\| \n/)
  expect(stdout).toMatch(/X-Timestamp: \d{10}\n/)
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
  expect(said).not.toContain(KEY)
  expect(said).not.toContain(SECRET)
  // Nothing as long as a signature in hex or base64 stands anywhere.
  expect(said.match(/[0-9a-f]{64}|[\w+/-]{43}=?(?![\w+/-])/g)).toBeNull()
  expect(said).toContain('<API_KEY>')
  expect(said).toContain('<SECRET> (found)')
})

test('explain works before the secrets are there, and says which are missing', async () => {
  const sandbox = await aSandbox({ customers: [1] })
  const { folder } = aWorkplace(organizationsOf(sandbox, { secret: { env: 'NOT_THERE_YET' } }))
  const { code, stdout } = await runCli(['signing', 'explain', 'acme'], { cwd: folder })

  expect(code).toBe(0)
  expect(stdout).toContain('<SECRET> (not found: environment NOT_THERE_YET')
})

test.each([
  ['an unknown organization', ['acne'], 'did you mean "acme"?'],
  ['no organization', [], 'missing required argument'],
])('explain for %s ends with 2', async (_, args, said) => {
  const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [1] })))
  const { code, stderr } = await runCli(['signing', 'explain', ...args], { cwd: folder })

  expect(code).toBe(2)
  expect(stderr).toContain(said)
})

/** One request that a service with this recipe accepts, as the user of `signing solve` knows it. */
async function aKnownRequest(recipe: Recipe) {
  const sandbox = await aSandbox({ customers: [3], recipe })
  const [organization] = sandbox.organizations
  if (organization === undefined) throw new Error('one organization was asked for')
  const url = customersUrl(new URL(organization.baseUrl), { page: 1, size: 100 })
  const headers = signedHeaders({ method: 'GET', url }, organization, { unixMs: Date.now() }, recipe)
  const folder = temporaryFolder()
  const [keyFile, secretFile] = [join(folder, 'key'), join(folder, 'secret')]
  writeFileSync(keyFile, `${organization.apiKey}\n`)
  writeFileSync(secretFile, `${organization.secret}\n`)
  const request = [
    ...['--url', url.href, '--timestamp', headers[recipe.headers.timestamp] ?? ''],
    `--signature=${headers[recipe.headers.signature] ?? ''}`,
    ...['--secret-file', secretFile, '--api-key-file', keyFile],
  ]
  return { sandbox, request, organization }
}

/** What is printed is put into a configuration, which must then mirror the sandbox. */
async function solvesAndMirrors(recipe: Recipe): Promise<void> {
  const { sandbox, request } = await aKnownRequest(recipe)
  const { code, stdout } = await runCommand(signingCommand, ['solve', ...request])
  expect(code).toBe(0)
  const { config } = aWorkplace(organizationsOf(sandbox, parse(stdout)))
  const synced = await runCommand(syncCommand, ['--json', '--config', config])
  expect(onlyRun(synced.stdout)).toMatchObject({ status: 'complete', inserted: 3, error: null })
}

test.each(someOf(PRESET_NAMES.flatMap((preset) => SIGNATURE_ENCODINGS.map((encoding) => [preset, encoding] as const))))(
  'solve finds %s in %s, and the configuration it prints works',
  async (preset, encoding) => {
    await solvesAndMirrors({ ...recipeOf(preset), encoding })
  },
)

test.each([
  ...SECRET_ENCODINGS.map((secretEncoding) => ({ secretEncoding })),
  ...TIMESTAMP_FORMS.map((timestamp) => ({ timestamp })),
  { prefix: 'sha256=' },
  { prefix: 'v1=', encoding: 'base64', secretEncoding: 'hex', timestamp: 'ms' } as const,
])('solve finds %j, and the configuration it prints works', async (settings) => {
  await solvesAndMirrors({ ...recipeOf('ts-method-path-body-lf'), ...settings })
})

test('solve as a process reads the secret from the environment, and prints nothing but the configuration', async () => {
  const { request, organization } = await aKnownRequest({ ...recipeOf('laravel-path'), encoding: 'base64' })
  const args = request.filter((_, index) => index < request.length - 4)
  const { code, stdout, stderr } = await runCli(['signing', 'solve', ...args, '--secret-env', 'THE_SECRET'], {
    cwd: temporaryFolder(),
    env: { THE_SECRET: organization.secret },
  })

  expect({ code, stdout }).toEqual({ code: 0, stdout: 'signing:\n  preset: laravel-path\n  encoding: base64\n' })
  expect(stderr).toBe('Found. In the configuration, under defaults or in the organization:\n')
})

test('solve with the wrong secret ends with 3, prints no configuration, and explains what to check', async () => {
  const { request, organization } = await aKnownRequest(recipeOf('ts-body'))
  writeFileSync(request[request.indexOf('--secret-file') + 1] ?? '', `${organization.secret}-but-not-quite`)
  const { code, stdout, stderr } = await runCommand(signingCommand, ['solve', ...request])

  expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
  expect(stderr).toMatch(/No preset makes this signature.*Check that/s)
})

test.each(['soon', '2026-01-05T02:00:00Z'])(
  'solve with the timestamp %s ends with 2, and names the forms',
  async (timestamp) => {
    const { request } = await aKnownRequest(recipeOf('ts-body'))
    const { code, stdout, stderr } = await runCommand(signingCommand, ['solve', ...request, '--timestamp', timestamp])

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/The timestamp must be as it was sent.*Unix seconds, Unix milliseconds/s)
  },
)

test.each([
  ['no secret', [], /^Name the secret with --secret-env NAME/],
  [
    'a secret that is not set',
    ['--secret-env', 'NOT_SET'],
    /^--secret-env: there is no .* Export it first, or .* --secret-file/,
  ],
  [
    'an API key that is not set',
    ['--secret-env', 'PATH', '--api-key-env', 'NOT_SET'],
    /^--api-key-env: there is no .* Export it first, or .* --api-key-file/,
  ],
  ['a secret file that is not there', ['--secret-file', './no-such-file'], /no-such-file/],
  ['two secrets', ['--secret-env', 'A', '--secret-file', 'b'], /--secret-env.*--secret-file/],
])('solve with %s ends with 2, and says what to do', async (_, secret, said) => {
  const request = ['--url', 'https://acme.example.com/api/v1/customers', '--timestamp', '1', '--signature', 'aa']
  const { code, stdout, stderr } = await runCli(['signing', 'solve', ...request, ...secret], { cwd: temporaryFolder() })

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(said)
  expect(stderr).not.toMatch(/NOT_SET|^\s+at /m)
})

test('solve does not wait for a named pipe', async () => {
  const cwd = temporaryFolder()
  heldPipe(join(cwd, 'pipe'))
  const request = ['--url', 'https://acme.example.com/api/v1/customers', '--timestamp', '1', '--signature', 'aa']
  const solved = await runCli(['signing', 'solve', ...request, '--secret-file', 'pipe'], { cwd })

  expect(solved).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('pipe: is a pipe, not a file') })
})

test('solve takes no secret on the command line, where every user of the machine could read it', async () => {
  const { stdout } = await runCli(['signing', 'solve', '--help'], { cwd: temporaryFolder() })

  expect(stdout).not.toMatch(/--secret[ =<]/)
  expect(readFileSync(new URL('../../README.md', import.meta.url), 'utf8')).not.toMatch(/--secret[ =]/)
})
