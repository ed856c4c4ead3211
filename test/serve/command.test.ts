import { Agent, get } from 'node:http'
import { dirname, join } from 'node:path'
import { writeFileSync } from 'node:fs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { stringify } from 'yaml'
import { serveCommand } from '../../src/cli/serve.ts'
import { listen } from '../../src/http/server.ts'
import { listAnswer } from '../../src/serve/open-api.ts'
import { DEFAULT_PRESET, recipeOf, signedHeaders } from '../../src/signing/signing.ts'
import { night } from '../store/nights.ts'
import { customers } from '../support/builders.ts'
import { aSqliteMirror, publishedFrom } from '../support/full-mirror.ts'
import { temporaryFolder } from '../support/mirror-file.ts'
import { runCommand } from '../support/run-cli.ts'
import { CLIENT_EXAMPLE } from '../support/documents.ts'
import { aServe, send, SHOP } from './a-served-mirror.ts'

const acme = { id: 'acme', baseUrl: 'https://acme.example.com', apiKey: { env: 'KEY' }, secret: { env: 'SECRET' } }
const globex = { ...acme, id: 'globex', baseUrl: 'https://globex.example.com', apiKey: { file: 'globex.key' } }

/** A configuration with these readers, each with its key and secret in files, in the folder of a mirror of three customers. */
async function configured(readers: readonly object[] | undefined, settings: object = {}) {
  const mirror = await aSqliteMirror()
  await night(mirror, 0, customers(1, 3))
  const folder = dirname(mirror.file)
  for (const name of ['shop', 'other', 'globex'])
    for (const kind of ['key', 'secret'])
      writeFileSync(join(folder, `${name}.${kind}`), `${kind}-of-${name}`, { mode: 0o600 })
  const config = join(folder, 'customer-mirror.yaml')
  const written = { mirror: './customers.db', organizations: [acme, globex], ...settings }
  writeFileSync(config, stringify({ ...written, ...(readers && { serve: { readers } }) }), { mode: 0o600 })
  return { mirror, config }
}

const shop = { name: 'shop', organizations: ['acme'], apiKey: { file: 'shop.key' }, secret: { file: 'shop.secret' } }
const other = { ...shop, name: 'other', apiKey: { file: 'other.key' } }
const IN_TWO_WAYS = { organizations: [acme, { ...globex, signing: { preset: 'ts-body' } }] }

test.each<[what: string, readers: object[] | undefined, said: string, settings?: object]>([
  ['no reader', undefined, 'serve.readers: names no reader'],
  ['an organization that is not configured', [{ ...shop, organizations: ['hooli'] }], 'is not configured'],
  ['the key of another reader', [shop, { ...other, apiKey: shop.apiKey }], 'the API key of reader shop'],
  ['the key to the source', [{ ...shop, apiKey: { file: 'globex.key' } }], 'the API key of organization globex'],
  ['one name twice', [shop, { ...other, name: 'shop' }], 'names shop twice'],
  ['a key that is not there', [{ ...shop, apiKey: { file: 'gone.key' } }], 'gone.key (the API key of reader shop)'],
  ['a key in the file itself', [{ ...shop, apiKey: 'key-of-shop' }], 'apiKey'],
  ['no organization', [{ ...shop, organizations: [] }], 'must name at least one organization'],
  ['two ways to sign', [{ ...shop, organizations: ['acme', 'globex'] }], 'make it two readers', IN_TWO_WAYS],
])('a configuration with %s is refused with 2, and no secret is said', async (_, readers, said, settings) => {
  const { config } = await configured(readers, settings)
  const { code, stdout, stderr } = await runCommand(serveCommand, ['--config', config, '--port', '0'], {
    signal: AbortSignal.timeout(5000),
  })

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(said)
  expect(stderr).not.toMatch(/(key|secret)-of-(shop|other|globex)/)
})

test.each(['a copy', 'the mirror'])('serve answers from %s on this machine alone, until stopped', async (what) => {
  const { mirror, config } = await configured([shop])
  const place = what === 'the mirror' ? [] : ['--mirror', publishedFrom(mirror)]
  const stopping = new AbortController()
  const serving = Promise.withResolvers<string>()
  const running = runCommand(serveCommand, ['--config', config, '--port', '0', ...place], {
    signal: stopping.signal,
    onStderr: (line) => line.includes('"serving"') && serving.resolve(line),
  })
  const { origin } = JSON.parse(await serving.promise)
  const url = new URL(`${origin}/api/v1/customers?search=customer-2`)
  const credentials = { apiKey: 'key-of-shop', secret: 'secret-of-shop' }
  const recipe = recipeOf(DEFAULT_PRESET)
  const headers = signedHeaders({ method: 'GET', url }, credentials, { unixMs: Date.now() }, recipe)
  const { status, text } = await send(url.href, 'GET', headers)

  expect(url.hostname).toBe('127.0.0.1')
  expect([status, listAnswer.parse(JSON.parse(text)).meta.total]).toEqual([200, 1])
  // A connection that a client keeps for its next request does not hold it up.
  const agent = new Agent({ keepAlive: true })
  await new Promise((resolve) => get(`${origin}/healthz`, { agent }, (answer) => answer.resume().on('end', resolve)))
  stopping.abort()
  const ended = await running
  agent.destroy()
  expect([ended.code, ended.stdout]).toEqual([0, ''])
  expect(ended.stderr).not.toMatch(/customer-2|secret-of|key-of/)
})

test('a request under way is answered before the server ends', async () => {
  const gate = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  const fetch = async () => {
    reached.resolve()
    await gate.promise
    return new Response('answered')
  }
  const { origin, close } = await listen({ fetch }, { host: '127.0.0.1', port: 0, graceMs: 60_000 })
  const answer = send(origin, 'GET', {})
  await reached.promise
  const closed = close()
  gate.resolve()

  expect(await answer).toMatchObject({ status: 200, text: 'answered' })
  await closed
})

test('the client of the page reads every customer', async () => {
  const mirror = await aSqliteMirror()
  await night(mirror, 0, customers(1, 230))
  const { baseUrl } = await aServe(mirror.file)
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'client.mjs'), CLIENT_EXAMPLE)
  const env = { CUSTOMERS: baseUrl, SHOP_API_KEY: SHOP.apiKey, SHOP_SECRET: SHOP.secret }
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  const said = vi.spyOn(console, 'log').mockReturnValue()
  onTestFinished(() => {
    vi.unstubAllEnvs()
    said.mockRestore()
  })
  await import(join(folder, 'client.mjs'))

  expect(said.mock.calls).toEqual(customers(1, 230).map(({ name, email }) => [name, email]))
})
