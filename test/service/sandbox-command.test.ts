import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { sandboxCommand } from '../../src/cli/sandbox.ts'
import { ask, failure, list } from './ask.ts'

const configSchema = z.object({
  organizations: z.array(z.object({ id: z.string(), baseUrl: z.string(), apiKey: z.string(), secret: z.string() })),
})

/** Runs the command until the test ends; resolves when it has printed its address. */
async function running(...options: string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'sandbox-command-'))
  const file = join(folder, 'customer-mirror.yaml')
  const stopping = new AbortController()
  const [stdout, stderr] = [new PassThrough({ encoding: 'utf8' }), new PassThrough({ encoding: 'utf8' })]
  const command = sandboxCommand({ signal: stopping.signal, stdout, stderr, exitWith: () => undefined })
  const ended = command.parseAsync(['--port', '0', '--write-config', file, ...options], { from: 'user' })
  onTestFinished(async () => {
    stopping.abort()
    await ended
    await rm(folder, { recursive: true })
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
  expect(answers.map((answer) => list(answer).meta.total)).toEqual([120, 7])
})

test('stops on a signal', async () => {
  const { organizations, stop, ended } = await running('--customers', '1')
  stop()
  await ended
  await expect(fetch(organizations[0]?.baseUrl ?? '')).rejects.toThrow('fetch failed')
})

test('its options reach the service', async () => {
  const { organizations } = await running(
    '--organizations',
    '4',
    '--customers',
    '3',
    '--rate-limit',
    '60,globex=8/5s',
    '--rate-limit',
    'initech=9/h',
    '--forbid',
    'org-4',
    '--large-pages',
    'cap',
    '--explain-401',
    '--latency',
    '1ms',
  )
  const answers = await Promise.all(organizations.map((organization) => ask(organization, '/customers?per_page=500')))
  expect(answers.map(({ headers }) => headers.get('X-RateLimit-Limit'))).toEqual(['60', '8', '9', '60'])
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 403])
  const [acme] = organizations
  if (!acme) throw new Error('no organization')
  expect(failure(await ask({ ...acme, secret: 'wrong' }, '/customers')).details).toHaveProperty('string_to_sign')
})

test('the recipe can be a template with every setting', async () => {
  const { organizations } = await running(
    '--signing',
    String.raw`{METHOD}\n{url}\n{ts}`,
    '--signature-encoding',
    'base64',
    '--signature-prefix',
    'v1=',
    '--secret-encoding',
    'hex',
    '--timestamp',
    'ms',
    '--customers',
    '1',
  )
  const recipe = {
    template: '{METHOD}\n{url}\n{ts}',
    encoding: 'base64' as const,
    prefix: 'v1=',
    secretEncoding: 'hex' as const,
    timestamp: 'ms' as const,
    headers: { key: 'X-API-Key', timestamp: 'X-Timestamp', signature: 'X-Signature', nonce: 'X-Nonce' },
  }
  for (const organization of organizations) expect((await ask(organization, '/customers', { recipe })).status).toBe(200)
})

test.each([
  ['--port', '70000', 'whole number from 0 to 65535'],
  ['--organizations', 'many', 'whole number from 1 to 1000'],
  ['--customers', '10,x', 'whole number from 0 to 1000000'],
  ['--latency', 'slow', 'such as 50ms or 2s'],
  ['--latency', '5', 'such as 50ms or 2s. A number needs its unit'],
  ['--latency', '11m', 'At most 10m.'],
  ['--rate-limit', 'globex=0', '"globex=0" is not a limit'],
  ['--rate-limit', '8/5', '"8/5" is not a limit'],
  ['--signing', 'laravel', 'There is no preset "laravel". There are method-target-ts-body-lf,'],
  ['--signing', '{METHOD}', 'must contain {ts}'],
  ['--signing', '{ts}{secret}', 'unknown token {secret}'],
  ['--timestamp', 'days', 'Allowed choices are s, ms, iso'],
])('%s %s is refused with the possible values', async (option, value, message) => {
  const stream = new PassThrough()
  const command = sandboxCommand({
    signal: AbortSignal.abort(),
    stdout: stream,
    stderr: stream,
    exitWith: () => undefined,
  })
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
  await expect(command.parseAsync([option, value], { from: 'user' })).rejects.toThrow(message)
})
