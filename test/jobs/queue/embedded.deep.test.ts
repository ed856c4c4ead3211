import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openEmbedded } from '../../../jobs/queue/embedded.ts'
import { aGate, aSandbox, organizationsOf } from '../../support/workplace.ts'
import { aJobsWorkplace, prepareQueue } from '../../support/jobs-workplace.ts'
import { rowsOf, temporaryFolder } from '../../support/mirror-file.ts'
import { expectWhole, startWorker, startWorkerProcess } from '../../support/worker-log.ts'

test('an embedded queue in the place of which is a damaged database is reported with its fix', async () => {
  const queue = join(temporaryFolder(), 'queue')
  prepareQueue(queue)
  writeFileSync(join(queue, 'postgres', 'PG_VERSION'), 'nonsense')

  const message = expect.stringMatching(/Check that its disk has room and works.*\(ulimit -n\).*move that folder away/)
  await expect(openEmbedded(queue, 'customer-mirror')).rejects.toMatchObject({ code: 'queue', message })
})

test('the worker that starts after one was killed goes on with its runs at once', async () => {
  const gate = aGate({ fromPage: 4 })
  const sandbox = await aSandbox({ customers: [500], intercept: gate.intercept })
  const place = aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1, scan: 'chain' }), { queue: 'embedded' })
  const timings = { lockMs: 3_600_000, stalledMs: 3_600_000 }
  const killed = startWorkerProcess(place, { timings })
  await gate.reached
  killed.send('SIGKILL')
  await killed.ended
  gate.open()
  await startWorker(place, { timings }).ran('acme')

  expectWhole(place.mirror, 500)
  expect(rowsOf(place.mirror, 'SELECT status, resumed_from FROM runs ORDER BY id')).toEqual([
    { status: 'interrupted', resumed_from: null },
    { status: 'complete', resumed_from: 1 },
  ])
})
