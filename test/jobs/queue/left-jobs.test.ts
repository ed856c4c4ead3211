import { expect, test } from 'vitest'
import { aGate } from '../../support/gate.ts'
import { aJobsWorkplace } from '../../support/jobs-workplace.ts'
import { rowsOf } from '../../support/mirror-file.ts'
import { expectWhole } from '../../support/one-worker.ts'
import { startWorker } from '../../support/worker-here.ts'
import { startWorkerProcess } from '../../support/worker-process.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

/** No lock runs out, and no job is looked for because of that, while a test lasts. */
const FOR_EVER = { lockMs: 3_600_000, stalledMs: 3_600_000, reconcileMs: 3_600_000 }

test('the job of a worker that was killed is taken over at once, and its run goes on', async () => {
  const gate = aGate({ fromPage: 4 })
  const sandbox = await aSandbox({ customers: [500], intercept: gate.intercept })
  const place = aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1, scan: 'chain' }))
  const killed = startWorkerProcess(place, { timings: FOR_EVER })
  await gate.reached
  killed.send('SIGKILL')
  await killed.ended
  gate.open()
  await startWorker(place, { timings: FOR_EVER }).ran('acme')

  expectWhole(place.mirror, 500)
  expect(rowsOf(place.mirror, 'SELECT status, "trigger", resumed_from FROM runs ORDER BY id')).toEqual([
    { status: 'interrupted', trigger: 'catch-up', resumed_from: null },
    { status: 'complete', trigger: 'catch-up', resumed_from: 1 },
  ])
})
