import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { readCredentials } from '../../src/config/credentials.ts'
import { readConfig } from '../../src/config/read-config.ts'
import { UsageError } from '../../src/errors/errors.ts'
import { writeConfig } from '../../src/service/write-config.ts'
import { aSandbox } from '../support/workplace.ts'

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'sandbox-'))
  onTestFinished(() => rm(path, { recursive: true }))
  return path
}

test('the written configuration names every organization with its credentials', async () => {
  const sandbox = await aSandbox({ customers: 1 })
  const file = join(await folder(), 'new', 'customer-mirror.yaml')
  await writeConfig(file, sandbox)
  expect(parse(await readFile(file, 'utf8'))).toEqual({
    mirror: './data/customers.db',
    schedule: { cron: '0 * * * *', timezone: 'UTC' },
    organizations: sandbox.organizations.map(({ id, baseUrl, apiKey, secret }) => ({ id, baseUrl, apiKey, secret })),
  })
})

test('the written configuration is open to its owner alone', async () => {
  const file = join(await folder(), 'new', 'customer-mirror.yaml')
  await writeConfig(file, await aSandbox({ customers: 1 }))
  expect([(await stat(file)).mode & 0o777, (await stat(join(file, '..'))).mode & 0o777]).toEqual([0o600, 0o700])
})

test('the written configuration is read back as the sandbox it was written for', async () => {
  const cwd = await folder()
  const headers = { key: 'X-Key', timestamp: 'X-Time', signature: 'X-Signed', nonce: 'X-Once' }
  const template = '{nonce}.{ts}\n{url}'
  const recipe = {
    template,
    encoding: 'base64url',
    prefix: 'v1=',
    secretEncoding: 'hex',
    timestamp: 'iso',
    headers,
  } as const
  for (const sandbox of [await aSandbox({ customers: 1 }), await aSandbox({ customers: 1, recipe })]) {
    const file = `${sandbox.recipe.encoding}.yaml`
    await writeConfig(join(cwd, file), sandbox)
    const config = await readConfig({ file, cwd })
    for (const [index, { id, baseUrl, apiKey, secret }] of sandbox.organizations.entries()) {
      const read = config.organizations[index]
      expect(read).toMatchObject({ id, signing: sandbox.recipe })
      expect(read?.baseUrl.href).toBe(baseUrl)
      expect(read && (await readCredentials(read))).toEqual({ apiKey, secret })
    }
  }
})

test('a file that exists is never overwritten', async () => {
  const file = join(await folder(), 'customer-mirror.yaml')
  await writeFile(file, 'mine')
  await expect(writeConfig(file, await aSandbox({ customers: 1 }))).rejects.toThrow(
    new UsageError(`${file} exists already and was not changed. Name another file, or delete it first.`),
  )
  expect(await readFile(file, 'utf8')).toBe('mine')
})

test('a configuration that cannot be written says so', async () => {
  const file = join(await folder(), 'file')
  await writeFile(file, '')
  await expect(writeConfig(join(file, 'customer-mirror.yaml'), await aSandbox({ customers: 1 }))).rejects.toThrow(
    UsageError,
  )
})

test('no configuration with literal keys is written for another machine', async () => {
  const file = join(await folder(), 'customer-mirror.yaml')
  const { organizations, recipe } = await aSandbox({ customers: 1 })
  const distant = organizations.map((each) => ({ ...each, baseUrl: 'http://192.0.2.1:4010/api/v1' }))
  await expect(writeConfig(file, { organizations: distant, recipe })).rejects.toThrow('No configuration was written')
  await expect(stat(file)).rejects.toThrow('ENOENT')
})
