import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { organizationsCommand } from '../../src/cli/organizations.ts'
import { aJobsWorkplace, someQueues } from '../support/jobs-workplace.ts'
import { rowsOf } from '../support/mirror-file.ts'
import { runCommand } from '../support/run-command.ts'
import { message, startWorker } from '../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../support/workplace.ts'

test('a waiting job of the old id ends without a request, its schedule is removed, and the new id is not due', async () => {
  const requested: string[] = []
  const sandbox = await aSandbox({
    customers: [120],
    intercept: async ({ req }, next) => {
      requested.push(req.url)
      await next()
    },
  })
  const place = aJobsWorkplace(organizationsOf(sandbox))
  const first = startWorker(place)
  await first.ran('acme')
  await first.stop()
  const before = await someQueues(place.queue, place.mirror)
  await before.queues.request('sync', 'acme', 'manual')
  await before.close()
  requested.length = 0

  const settings = parse(readFileSync(place.config, 'utf8'))
  settings.organizations[0].id = 'acme-eu'
  writeFileSync(place.config, stringify(settings))
  expect(await runCommand(organizationsCommand, ['rename', 'acme', 'acme-eu', '--config', place.config])).toMatchObject(
    {
      code: 0,
      stderr: '',
    },
  )
  const second = startWorker(place, { timings: { leftWaitMs: 20 } })
  await second.said(message('worker started'))
  await second.ran('acme', 'give-up')
  await second.stop()

  expect(requested).toEqual([])
  expect(rowsOf(place.mirror, 'SELECT organization, status FROM runs')).toEqual([
    { organization: 'acme-eu', status: 'complete' },
  ])
})
