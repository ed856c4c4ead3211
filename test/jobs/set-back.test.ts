import { withBackend, type IQueueBackend } from 'bullmq'
import { expect, test } from 'vitest'
import { readConfig } from '../../src/config/read-config.ts'
import { queueNames } from '../../jobs/queues.ts'
import { createReconciler } from '../../jobs/reconciler.ts'
import { watchWallClock } from '../../jobs/set-back.ts'
import { aJobsWorkplace, someQueues } from '../support/jobs-workplace.ts'
import { organizationAt } from '../support/workplace.ts'

const HOUR_MS = 3_600_000
const AT = { baseUrl: new URL('http://127.0.0.1:1/api/v1') }

test('a job that waits is not made to wait longer by a clock that is set back', async () => {
  const { backend, queues, config } = await aQueue()
  // As an hour ahead of now would have made it.
  await queues.sync.add('schedule', { organization: 'acme' }, { timestamp: Date.now() + HOUR_MS, delay: 1 })
  let nowMs = Date.now() + HOUR_MS
  const said: string[] = []
  const say = (_facts: unknown, message?: string) => void said.push(message ?? '')
  const mirror = { listLastRuns: async () => [] }
  const reconcile = createReconciler(
    { config, queues, mirror: Object(mirror) },
    { now: () => nowMs, monotonicMs: () => 5000 },
    { info: say, warn: say },
  )
  nowMs -= HOUR_MS
  await reconcile({ atStart: false })

  const { Worker } = withBackend<IQueueBackend, unknown>(backend.factory)
  const taken = Promise.withResolvers<unknown>()
  const worker = new Worker(
    queueNames(backend).sync,
    async (job) => {
      taken.resolve(job.data)
      return {}
    },
    { connection: {} },
  )
  worker.on('error', () => {})

  expect(await taken.promise).toEqual({ organization: 'acme' })
  expect(said).toContain('clock set back, waits begin anew')
  await worker.close()
})

test.each([
  ['was set back by an hour', -HOUR_MS, true],
  ['was set back by a second', -1000, false],
  ['was set forward', HOUR_MS, false],
  ['was left alone', 0, false],
])('a clock that %s', (_what, byMs, isNoticed) => {
  let [nowMs, monotonicMs] = [Date.now(), 0]
  const wallClock = watchWallClock({ now: () => nowMs, monotonicMs: () => monotonicMs })
  nowMs += 300_000 + byMs
  monotonicMs += 300_000

  expect(wallClock.wasSetBack()).toBe(isNoticed)
  expect(wallClock.wasSetBack()).toBe(false)
})

async function aQueue() {
  const { config: file, mirror, queue } = aJobsWorkplace([organizationAt(AT)], {})
  const opened = await someQueues(queue, mirror)
  const current = await readConfig({ file, cwd: '/' })
  const config = { current, organizationOf: () => undefined, reload: async () => {} }
  return { ...opened, config }
}
