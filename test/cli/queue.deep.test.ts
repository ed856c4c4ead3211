import { expect, test } from 'vitest'
import { pauseCommand } from '../../src/cli/queue.ts'
import { aJobsWorkplace, isEmbedded, someQueues } from '../support/jobs-workplace.ts'
import { runCommand } from '../support/run-command.ts'
import { startWorker } from '../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../support/workplace.ts'
import { run, untilDelayed } from '../support/commands.ts'

test('pause asks to stop the worker of an embedded queue first', async () => {
  const { config } = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [3] })), { queue: 'embedded' })
  const worker = startWorker({ config })
  await worker.ran('acme')

  expect(await runCommand(pauseCommand, ['acme', '--config', config])).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('stop the worker (Ctrl-C or SIGTERM), enter this command again'),
  })
})

// Other processes cannot add to an embedded queue.
if (!isEmbedded) {
  test('run starts a job that waits for its next attempt', async () => {
    let isDown = true
    const sandbox = await aSandbox({
      customers: [20],
      intercept: async (_context, next) => (isDown ? new Response('down', { status: 500 }) : next()),
    })
    const place = aJobsWorkplace(organizationsOf(sandbox, { maxWait: '0s' }))
    const worker = startWorker(place, { timings: { firstRetryMs: 3_600_000, longestRetryMs: 3_600_000 } })
    await worker.ran('acme', 'retry')
    isDown = false
    const { queues } = await someQueues(place.queue, place.mirror)
    await untilDelayed(queues)
    const asked = await run(place, ['acme'])

    expect(asked).toMatchObject({ code: 0, stdout: 'acme: has a job that waited; it starts now\n' })
    expect((await worker.ran('acme')).report).toMatchObject({ inserted: 20 })
  })
}
