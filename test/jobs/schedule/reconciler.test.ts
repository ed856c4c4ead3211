import { expect, test } from 'vitest'
import { readConfig } from '../../../src/config/read-config.ts'
import { createReconciler } from '../../../jobs/schedule/reconciler.ts'
import { aJobsWorkplace, someQueues } from '../../support/jobs-workplace.ts'
import { organizationAt } from '../../support/workplace.ts'

const AT = { baseUrl: new URL('http://127.0.0.1:1/api/v1') }
const HOUR_MS = 3_600_000

test('a clock that was set back is answered by the next comparison that succeeds, and once', async () => {
  const place = aJobsWorkplace([organizationAt(AT, { id: 'acme' })], {
    schedule: { cron: '* * * * *', timezone: 'UTC' },
  })
  const { backend, queues } = await someQueues(place.queue, place.mirror)
  const current = await readConfig({ file: place.config, cwd: '/' })
  const logged: unknown[] = []
  let nowMs = Date.now()
  let isLost = false
  const listLastRuns = async () => {
    if (isLost) throw new Error('Connection is closed.')
    return [{ organization: 'acme', startedAtMs: nowMs, status: 'complete', completeAsOfMs: nowMs + HOUR_MS }]
  }
  const engine = Object({
    followed: {
      live: { current, reading: current },
      accepted: { isMine: true, mayWrite: true },
      refresh: async () => {},
      look: async () => {},
    },
    queues,
    backend,
    mirror: { listLastRuns },
    syncWorker: {},
  })
  const log = { info: (facts: object) => logged.push(facts), warn: (facts: object) => logged.push(facts) }
  const stop = new AbortController()
  const reconcile = createReconciler(engine, { now: () => nowMs, log, signal: stop.signal })
  const made = { upserted: ['acme'], removed: [], catchUp: [] }

  await reconcile()
  nowMs -= HOUR_MS
  isLost = true
  await reconcile({ wasSetBack: true })
  expect(logged.splice(0)).toEqual([made, { reason: 'Error: Connection is closed' }])
  isLost = false
  await reconcile()
  await reconcile()

  expect(logged.splice(0)).toEqual([made])
  isLost = true
  stop.abort()
  await reconcile()
  expect(logged, 'a stop closes the queue').toEqual([])
})
