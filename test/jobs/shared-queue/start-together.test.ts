import { setTimeout as sleep } from 'node:timers/promises'
import { expect, inject, test } from 'vitest'
import { dice } from '../../support/dice.ts'
import { eventually } from '../../support/eventually.ts'
import { aGate } from '../../support/gate.ts'
import { aJobsWorkplace, someQueues } from '../../support/jobs-workplace.ts'
import { rowsOf } from '../../support/mirror-file.ts'
import { message, startWorker } from '../../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

/** One of these is refused by the service, so that its run fails for good. */
const ORGANIZATIONS = inject('isDeep') ? 28 : 12
const WORKERS = 3

test.each(inject('isDeep') ? [1, 2, 3, 4] : [1])(
  'workers that start together while due times come run an organization once (seed %i)',
  async (seed) => {
    const random = dice(seed)
    // A worker that starts after a run has failed retries it: no answer comes before the last worker starts.
    const gate = aGate()
    const customers = Array.from({ length: ORGANIZATIONS }, () => 30)
    const sandbox = await aSandbox({ customers, intercept: gate.intercept })
    const [refused, ...listed] = organizationsOf(sandbox)
    const organizations = [...listed, { ...refused!, secret: 'another' }]
    const place = aJobsWorkplace(organizations)
    const { queues } = await someQueues(place.queue, place.mirror)

    const workers = await Promise.all(
      Array.from({ length: WORKERS }, async () => {
        await sleep(random.below(80))
        return startWorker(place, { timings: { catchUpMs: 600_000 } })
      }),
    )
    gate.open()
    for (const { id } of organizations) {
      await queues.request('sync', id, 'schedule', { dueMs: 1 })
      await sleep(random.below(10))
    }
    for (const worker of workers) await worker.said(message('worker started'))
    const counts = () => Promise.all(queues.all.map((queue) => queue.getJobCounts('active', 'waiting', 'delayed')))
    await eventually(
      async () => ({ ran: ended(place.mirror).length, counts: await counts() }),
      ({ ran, counts: [sync] }) => ran >= ORGANIZATIONS && sync!.active === 0 && sync!.waiting === 0,
    )

    const twice = `SELECT organization, count(*) AS runs, group_concat("trigger" || ' ' || status) AS how FROM runs
      GROUP BY organization HAVING count(*) <> 1`
    expect(rowsOf(place.mirror, twice)).toEqual([])
    expect(ended(place.mirror)).toHaveLength(ORGANIZATIONS)
  },
)

function ended(mirror: string) {
  return rowsOf(mirror, `SELECT DISTINCT organization FROM runs WHERE status IN ('complete', 'failed')`)
}
