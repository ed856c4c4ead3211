import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sandboxCommand } from '../../src/cli/sandbox.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { readCredentials } from '../../src/config/credentials.ts'
import { readConfig } from '../../src/config/read-config.ts'
import { UsageError } from '../../src/errors/errors.ts'
import { type Sandbox, startSandbox, writeConfig } from '../../src/service/sandbox.ts'
import { DEFAULT_PRESET, recipeOf } from '../../src/signing/signing.ts'
import { ask } from './a-sandbox.ts'
import { syncRuns } from '../support/json-page.ts'
import { runCommand } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/mirror-file.ts'
import { aSandbox } from '../support/workplace.ts'

test('the same seed gives the same keys, secrets and customers; another seed gives others', async () => {
  const [one, same, other] = await Promise.all(['x', 'x', 'y'].map((seed) => aSandbox({ seed, customers: 3 })))
  if (!one || !same || !other) throw new Error('no sandbox')
  const facts = (sandbox: Sandbox) => sandbox.organizations.map(({ baseUrl: _port, list: _list, ...each }) => each)
  expect(facts(one)).toEqual(facts(same))
  expect(one.organizations[0]?.apiKey).toMatch(/^sandbox_key_acme_[0-9a-f]{24}$/)
  expect(other.organizations[0]?.apiKey).not.toBe(one.organizations[0]?.apiKey)
  expect(other.organizations[0]?.secret).not.toBe(one.organizations[0]?.secret)
  expect(other.organizations[0]?.customers[0]?.id).not.toBe(one.organizations[0]?.customers[0]?.id)
})

test('more customers than fit are refused', async () => {
  const start = startSandbox({ customers: [1_000_000, 1] })
  await expect(start).rejects.toThrow(UsageError)
  await expect(start).rejects.toThrow('more than the sandbox can hold in memory')
})

test('prints every organization with its address, key and secret, writes a private configuration that mirrors it every hour, and keeps its limit', async () => {
  const cwd = temporaryFolder()
  const file = join(cwd, 'my trial.yaml')
  const stopping = new AbortController()
  const started = Promise.withResolvers<void>()
  const options = ['--port', '0', '--customers', '230,7', '--rate-limit', '600', '--write-config', file]
  const ending = runCommand(sandboxCommand, options, {
    signal: stopping.signal,
    onStderr: (text) => text.includes(`\n  customer-mirror sync --config '${file}'\n`) && started.resolve(),
  })
  await started.promise
  const { mirror, organizations } = await readConfig({ file, cwd })
  const written = await Promise.all(
    organizations.map(async (each) => ({ id: each.id, baseUrl: each.baseUrl.href, ...(await readCredentials(each)) })),
  )
  const answers = await Promise.all(written.map((organization) => ask(organization, '/customers')))
  const synced = await runCommand(syncCommand, ['--config', file, '--json'])
  stopping.abort()
  const { stdout } = await ending

  expect(synced.code).toBe(0)
  expect(syncRuns(synced.stdout)).toMatchObject([{ inserted: 230 }, { inserted: 7 }])
  expect(answers.map(({ headers }) => headers.get('X-RateLimit-Limit'))).toEqual(['600', '600'])
  for (const each of written.flatMap((organization) => Object.values(organization))) expect(stdout).toContain(each)
  expect(mirror).toBe(join(cwd, 'data/customers.db'))
  const schedule = { cron: '0 * * * *', timezone: 'UTC' }
  for (const each of organizations) expect(each).toMatchObject({ signing: recipeOf(DEFAULT_PRESET), schedule })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
})

test('no configuration with literal keys is written for another machine', async () => {
  const file = join(temporaryFolder(), 'customer-mirror.yaml')
  const { organizations } = await aSandbox({ customers: 1 })
  const distant = organizations.map((each) => ({ ...each, baseUrl: 'http://192.0.2.1:4010/api/v1' }))
  await expect(writeConfig(file, { organizations: distant })).rejects.toThrow('No configuration was written')
  await expect(stat(file)).rejects.toThrow('ENOENT')
})
