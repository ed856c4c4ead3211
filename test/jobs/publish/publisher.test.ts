import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { syncCommand } from '../../../src/cli/sync.ts'
import { eventually } from '../../support/eventually.ts'
import { aJobsWorkplace } from '../../support/jobs-workplace.ts'
import { rowsOf, valueOf } from '../../support/mirror-file.ts'
import { published, SOON } from '../../support/publishing.ts'
import { runCommand } from '../../support/run-command.ts'
import { startWorker } from '../../support/worker-log.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../../support/workplace.ts'

test('a worker publishes when the runs of all organizations are over', async () => {
  const sandbox = await aSandbox({ customers: [50, 20, 3] })
  const place = aJobsWorkplace(organizationsOf(sandbox), { publish: { file: 'copies/x.db', keep: 9 } })
  const file = join(place.folder, 'copies', 'x.db')
  const worker = startWorker(place, { timings: SOON })
  await Promise.all(sandbox.organizations.map(({ id }) => worker.ran(id)))
  await eventually(
    () => (existsSync(file) ? valueOf(file, 'SELECT count(*) FROM customers') : 0),
    (customers) => customers === 73,
  )

  expect(rowsOf(file, 'SELECT organization, last_status FROM manifest')).toMatchObject([
    { organization: 'acme', last_status: 'complete' },
    { organization: 'globex', last_status: 'complete' },
    { organization: 'initech', last_status: 'complete' },
  ])
  expect(worker.lines.join('\n')).not.toContain('@example')
})

test('a worker that starts makes the copy that an earlier one did not live to make', async () => {
  const sandbox = await aSandbox({ customers: [30] })
  const place = aJobsWorkplace(organizationsOf(sandbox), { publish: { file: 'copies/x.db' } })
  const file = join(place.folder, 'copies', 'x.db')
  const withoutCopy = aWorkplace(organizationsOf(sandbox), { mirror: place.mirror })
  expect(await runCommand(syncCommand, ['--config', withoutCopy.config])).toMatchObject({ code: 0 })
  const worker = startWorker(place, { timings: SOON })
  await worker.said(published)

  expect(rowsOf(file, 'SELECT organization, run_id, customers FROM manifest')).toEqual([
    { organization: 'acme', run_id: 1, customers: 30 },
  ])
})
