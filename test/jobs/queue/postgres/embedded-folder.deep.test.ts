import { chmodSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openBackend } from '../../../../jobs/queue/backend.ts'
import { prepareQueue } from '../../../support/jobs-workplace.ts'
import { temporaryFolder } from '../../../support/temp-folder.ts'

test('an embedded queue is in a private folder, and is opened again after it was closed', async () => {
  const place = temporaryFolder()
  const folder = join(place, 'queue')
  prepareQueue(folder)
  chmodSync(folder, 0o755)
  const first = await openBackend('embedded', { folder: place })
  await expect(openBackend('embedded', { folder: place })).rejects.toMatchObject({ code: 'queue' })
  await first.close()
  const again = await openBackend('embedded', { folder: place })
  await again.write()
  await again.close()

  expect(statSync(folder).mode & 0o777).toBe(0o700)
})

test('a damaged embedded queue is reported with its fix', async () => {
  const place = temporaryFolder()
  prepareQueue(join(place, 'queue'))
  writeFileSync(join(place, 'queue', 'postgres', 'PG_VERSION'), 'nonsense')

  await expect(openBackend('embedded', { folder: place })).rejects.toMatchObject({
    code: 'queue',
    message: expect.stringMatching(/Check that its disk has room and works.*move that folder away/),
  })
})
