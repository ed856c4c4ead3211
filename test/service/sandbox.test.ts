import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { sandboxCommand } from '../../src/cli/sandbox.ts'
import { readCredentials } from '../../src/config/credentials.ts'
import { readConfig } from '../../src/config/read-config.ts'
import { UsageError } from '../../src/errors/errors.ts'
import { type Sandbox, startSandbox, writeConfig } from '../../src/service/sandbox.ts'
import { ask } from './a-sandbox.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aSandbox } from '../support/workplace.ts'

test('every organization is served its own customers, and no id is shared', async () => {
  const { organizations } = await aSandbox({ customers: [120, 50, 7, 3] })
  expect(organizations.map(({ id }) => id)).toEqual(['acme', 'globex', 'initech', 'org-4'])
  for (const organization of organizations) {
    const { data, meta } = await ask(organization, '/customers?per_page=100')
    expect(data).toEqual(organization.customers.slice(0, 100))
    expect(meta.total).toBe(organization.customers.length)
  }
  expect(new Set(organizations.flatMap(({ customers }) => customers.map(({ id }) => id))).size).toBe(180)
})

test('the same seed gives the same keys, secrets and customers; another seed gives others', async () => {
  const [one, same, other] = await Promise.all(['x', 'x', 'y'].map((seed) => aSandbox({ seed, customers: 3 })))
  if (!one || !same || !other) throw new Error('no sandbox')
  const facts = (sandbox: Sandbox) => sandbox.organizations.map((each) => ({ ...each, baseUrl: 'its own port' }))
  expect(facts(one)).toEqual(facts(same))
  expect(one.organizations[0]?.apiKey).toMatch(/^sandbox_key_acme_[0-9a-f]{24}$/)
  expect(other.organizations[0]?.apiKey).not.toBe(one.organizations[0]?.apiKey)
  expect(other.organizations[0]?.secret).not.toBe(one.organizations[0]?.secret)
  expect(other.organizations[0]?.customers[0]?.id).not.toBe(one.organizations[0]?.customers[0]?.id)
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

const configSchema = z.object({
  organizations: z.array(z.object({ id: z.string(), baseUrl: z.string(), apiKey: z.string(), secret: z.string() })),
})

/** Runs the command until the test ends; resolves when it has printed its address. */
async function running(...options: string[]) {
  const file = join(temporaryFolder(), 'customer-mirror.yaml')
  const stopping = new AbortController()
  const [stdout, stderr] = [new PassThrough({ encoding: 'utf8' }), new PassThrough({ encoding: 'utf8' })]
  const command = sandboxCommand({ signal: stopping.signal, stdout, stderr, exitWith: () => undefined })
  const ended = command.parseAsync(['--port', '0', '--write-config', file, ...options], { from: 'user' })
  onTestFinished(async () => {
    stopping.abort()
    await ended
  })
  const talk = await Promise.race([firstText(stderr), ended.then(() => Promise.reject(new Error('It ended')))])
  const { organizations } = configSchema.parse(parse(await readFile(file, 'utf8')))
  return { organizations, printed: String(stdout.read()), talk, stop: () => stopping.abort(), ended }
}

async function firstText(stream: PassThrough): Promise<string> {
  for await (const text of stream) return String(text)
  return ''
}

test('prints every organization with its address, key and secret, and serves them', async () => {
  const { organizations, printed, talk } = await running('--customers', '120,7', '--seed', 'mine')
  expect(organizations.map(({ id }) => id)).toEqual(['acme', 'globex'])
  for (const { id, baseUrl, apiKey, secret } of organizations) {
    for (const part of [id, baseUrl, apiKey, secret]) expect(printed).toContain(part)
  }
  expect(talk).toContain('Ctrl-C stops it')
  const answers = await Promise.all(organizations.map((organization) => ask(organization, '/customers')))
  expect(answers.map((answer) => answer.meta.total)).toEqual([120, 7])
})

test('its limit reaches the service', async () => {
  const { organizations } = await running('--customers', '3', '--rate-limit', '60')
  const answers = await Promise.all(organizations.map((organization) => ask(organization, '/customers')))
  expect(answers.map(({ headers }) => headers.get('X-RateLimit-Limit'))).toEqual(['60', '60', '60'])
})

test('the written configuration is read back as the sandbox it was written for', async () => {
  const cwd = temporaryFolder()
  const encodings = { encoding: 'base64url', prefix: 'v1=', secretEncoding: 'hex', timestamp: 'iso' } as const
  const recipe = { template: '{nonce}.{ts}\n{url}', nonceHeader: 'X-Once', ...encodings }
  for (const sandbox of [await aSandbox({ customers: 1 }), await aSandbox({ customers: 1, recipe })]) {
    const file = `${sandbox.recipe.encoding}.yaml`
    await writeConfig(join(cwd, file), sandbox)
    const config = await readConfig({ file, cwd })
    expect(config.mirror).toBe(join(cwd, 'data/customers.db'))
    for (const [index, { id, baseUrl, apiKey, secret }] of sandbox.organizations.entries()) {
      const read = config.organizations[index]
      expect(read).toMatchObject({ id, signing: sandbox.recipe, schedule: { cron: '0 * * * *', timezone: 'UTC' } })
      expect(read?.baseUrl.href).toBe(baseUrl)
      expect(read && (await readCredentials(read))).toEqual({ apiKey, secret })
    }
  }
})

test('no configuration with literal keys is written for another machine', async () => {
  const file = join(temporaryFolder(), 'customer-mirror.yaml')
  const { organizations, recipe } = await aSandbox({ customers: 1 })
  const distant = organizations.map((each) => ({ ...each, baseUrl: 'http://192.0.2.1:4010/api/v1' }))
  await expect(writeConfig(file, { organizations: distant, recipe })).rejects.toThrow('No configuration was written')
  await expect(stat(file)).rejects.toThrow('ENOENT')
})
