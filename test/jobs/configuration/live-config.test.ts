import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { configurationHash, openLiveConfig } from '../../../jobs/configuration.ts'
import { aWorkplace, organizationAt } from '../../support/workplace.ts'

const AT = { baseUrl: new URL('http://127.0.0.1:1/api/v1') }

test.each([
  ['of the configuration', false, ['mirror', 'queue']],
  ['of the command line', true, ['mirror']],
])('a changed mirror and queue wait for a restart, in a worker with the queue %s', async (_, embedded, awaited) => {
  const { folder, config } = aWorkplace([organizationAt(AT)], { queue: 'redis://127.0.0.1:6379' })
  const before = readFileSync(config, 'utf8')
  const live = await openLiveConfig({ file: config, cwd: folder, embedded }, Date.now)
  writeFileSync(config, before.replace('customers.db', 'elsewhere.db').replace('6379', '6380'))
  await live.reload()

  expect(live.awaitingRestart).toEqual(awaited)
  writeFileSync(config, before)
  await live.reload()
  expect(live.awaitingRestart).toEqual([])
})

test('two files have the same hash where they differ only in the order of keys, in a secret or in the address of the queue', () => {
  const acme = { id: 'acme', apiKey: 'made-up-key', secret: { env: 'ACME_SECRET' }, baseUrl: 'https://a.example.com' }
  const file = { mirror: './customers.db', queue: 'redis://:password@one', organizations: [acme] }
  const { apiKey: _apiKey, ...others } = acme
  const reordered = { apiKey: 'other', ...others }
  const hash = configurationHash(file)

  expect(hash).toMatch(/^[0-9a-f]{64}$/)
  expect(configurationHash({ organizations: [reordered], mirror: './customers.db' })).toBe(hash)
  const different = [
    { ...file, mirror: './other.db' },
    { ...file, organizations: [] },
    { ...file, organizations: [{ ...acme, secret: { env: 'OTHER_SECRET' } }] },
    { ...file, organizations: [acme, { ...acme, id: 'globex' }] },
  ]
  expect(new Set([file, ...different].map(configurationHash)).size).toBe(different.length + 1)
})
