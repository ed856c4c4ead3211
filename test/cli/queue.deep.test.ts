import { expect, test } from 'vitest'
import { pauseCommand } from '../../src/cli/queue.ts'
import { aJobsWorkplace } from '../support/jobs-workplace.ts'
import { runCommand } from '../support/run-command.ts'
import { startWorker } from '../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../support/workplace.ts'

test('pause asks to stop the worker of an embedded queue first', async () => {
  const { config } = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [3] })), { queue: 'embedded' })
  const worker = startWorker({ config })
  await worker.ran('acme')

  expect(await runCommand(pauseCommand, ['acme', '--config', config])).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('stop the worker (Ctrl-C or SIGTERM), enter this command again'),
  })
})
