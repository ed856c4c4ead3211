import { chmodSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openEmbedded } from '../../../../jobs/queue/postgres/embedded.ts'
import { prepareQueue } from '../../../support/jobs-workplace.ts'
import { temporaryFolder } from '../../../support/temp-folder.ts'

test('every file of an embedded queue is private, also those of one from before', async () => {
  const queue = join(temporaryFolder(), 'queue')
  prepareQueue(queue)
  chmodSync(join(queue, 'postgres'), 0o755)
  chmodSync(join(queue, 'postgres', 'PG_VERSION'), 0o666)
  const opened = await openEmbedded(queue, 'customer-mirror')
  const found = readdirSync(join(queue, 'postgres'), { recursive: true, encoding: 'utf8' })
  const open = found.filter((name) => (statSync(join(queue, 'postgres', name)).mode & 0o077) !== 0)
  await opened.close()

  expect(found.length).toBeGreaterThan(900)
  expect(open).toEqual([])
  expect(statSync(join(queue, 'postgres')).mode & 0o777).toBe(0o700)
})
