import { expect, test } from 'vitest'
import { pauseCommand } from '../../src/cli/pause.ts'
import { aPlace } from '../support/pausing.ts'
import { startWorker } from '../support/worker-log.ts'

test('pause asks to stop the worker of an embedded queue first', async () => {
  const { config, ask } = await aPlace({ queue: 'embedded' })
  const worker = startWorker({ config })
  await worker.ran('acme')
  const { code, stderr } = await ask(pauseCommand, 'acme')

  expect(code).toBe(5)
  expect(stderr).toContain('stop the worker (Ctrl-C or SIGTERM), enter this command again')
})
