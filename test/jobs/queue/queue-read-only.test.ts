import { expect, test } from 'vitest'
import { examine } from '../../../jobs/monitoring/health.ts'

test.each([
  ['refuses', 'cannot execute INSERT in a read-only transaction', 'the queue cannot be written: cannot execute INSERT'],
  ['is gone', 'connect ECONNREFUSED 127.0.0.1:5432', 'the queue cannot be reached'],
])('a worker whose queue %s is not ready, and says why', async (_how, said, problem) => {
  const readiness = await examine({
    write: () => Promise.reject(new Error(said)),
    workers: [],
    organizations: [],
    mirror: { listLastRuns: async () => [], ...NOTHING_ELSE },
    nowMs: 0,
  })

  expect(readiness.ready).toBe(false)
  expect(readiness.problems[0]).toContain(problem)
})

const NOTHING_ELSE = {
  listFreshness: async () => [],
  listHeldRemovals: async () => [],
  listUncountedFreshness: async () => [],
}
