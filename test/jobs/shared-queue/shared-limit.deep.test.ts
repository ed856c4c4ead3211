import { expect, test } from 'vitest'
import { aJobsWorkplace } from '../../support/jobs-workplace.ts'
import { rowsOf } from '../../support/mirror-file.ts'
import { startWorkerProcess } from '../../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

test('three workers that read six organizations keep to one limit together', async () => {
  const requestsPerMinute = 1200
  const arrivedMs: number[] = []
  const sandbox = await aSandbox({
    customers: Array.from({ length: 6 }, () => 2000),
    intercept: async (_, next) => {
      arrivedMs.push(performance.now())
      await next()
    },
  })
  const organizations = organizationsOf(sandbox, { rateLimit: { shared: 'vendor', requestsPerMinute } })
  const place = aJobsWorkplace(organizations, { jobs: { concurrency: 2 } })
  const workers = Array.from({ length: 3 }, () => startWorkerProcess(place))
  for (const { id } of organizations) await Promise.any(workers.map((worker) => worker.ran(id)))

  // A busy machine only makes it slower. Three that do not share it would be three times as fast.
  const tookMs = (arrivedMs.at(-1) ?? 0) - (arrivedMs[0] ?? 0)
  expect(arrivedMs).toHaveLength(120)
  expect(tookMs).toBeGreaterThan((0.9 * ((arrivedMs.length - 1) * 60_000)) / requestsPerMinute)
  expect(rowsOf(place.mirror, 'SELECT status, received FROM runs')).toEqual(
    organizations.map(() => ({ status: 'complete', received: 2000 })),
  )
})
