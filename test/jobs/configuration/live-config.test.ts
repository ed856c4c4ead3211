import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openLiveConfig } from '../../../jobs/configuration/live-config.ts'
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
