import { expect, test } from 'vitest'
import { aGate } from '../../support/gate.ts'
import { aJobsWorkplace } from '../../support/jobs-workplace.ts'
import { rowsOf } from '../../support/mirror-file.ts'
import { startWorker } from '../../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

test('a pause that the service asked of one worker holds in the other, under the limit they share', async () => {
  let acmeKey = ''
  const gate = aGate({ key: () => acmeKey, fromPage: 2 })
  const sandbox = await aSandbox({
    ...{ customers: [1500, 500, 500], intercept: gate.intercept },
    rateLimits: [{ organization: 'globex', requests: 2, windowMs: 90_000 }],
  })
  acmeKey = sandbox.organizations[0]?.apiKey ?? ''
  const rateLimit = { shared: 'vendor', requestsPerMinute: 1200 }
  const organizations = organizationsOf(sandbox, { concurrency: 1 }).map((organization) =>
    organization.id === 'initech' ? organization : { ...organization, rateLimit },
  )
  const place = aJobsWorkplace(organizations, { jobs: { concurrency: 1 } })
  // Each reads one organization at a time, and acme keeps its worker busy.
  const workers = [startWorker(place), startWorker(place)]
  const ran = (organization: string, verdict?: string) =>
    Promise.any(workers.map((worker) => worker.ran(organization, verdict)))
  await gate.reached
  await ran('globex', 'wait')
  gate.open()
  const paused = await ran('acme', 'wait')
  await ran('initech')

  expect(paused.report).toMatchObject({ status: 'waiting', throttled: 0, error: { code: 'rate-limited' } })
  expect(rowsOf(place.mirror, "SELECT status FROM runs WHERE organization = 'initech'")).toEqual([
    { status: 'complete' },
  ])
})
