import { chmodSync, statSync, utimesSync, writeFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, onTestFinished } from 'vitest'
import { openBackend } from '../../../../jobs/queue/backend.ts'
import { prepareQueue } from '../../../support/jobs-workplace.ts'
import { temporaryFolder } from '../../../support/temp-folder.ts'
import { lockFolder } from '../../../../jobs/queue/postgres/folder-lock.ts'

test('an embedded queue is in a private folder, and is opened again after it was closed', async () => {
  const place = temporaryFolder()
  const folder = join(place, 'queue')
  prepareQueue(folder)
  chmodSync(folder, 0o755)
  const first = await openBackend('embedded', { folder: place })
  await expect(openBackend('embedded', { folder: place })).rejects.toMatchObject({ code: 'queue' })
  await first.close()
  const again = await openBackend('embedded', { folder: place })
  await again.ping()
  await again.close()

  expect(statSync(folder).mode & 0o777).toBe(0o700)
})

test.each([
  ['forward', -3_600_000],
  ['back', 3_600_000],
])('a process of another machine keeps its lock when the clock is set %s by an hour', async (_which, byMs) => {
  const folder = temporaryFolder()
  const file = join(folder, 'lock')
  writeFileSync(file, 'elsewhere/pid:[1]#1#1')
  const before = (Date.now() + byMs) / 1000
  utimesSync(file, before, before)
  const alive = setInterval(() => utimesSync(file, new Date(), new Date()), 50)
  onTestFinished(() => clearInterval(alive))

  await expect(lockFolder(folder, { watchMs: 500 })).rejects.toThrow('in use')
})

test('a damaged embedded queue is reported with its fix', async () => {
  const place = temporaryFolder()
  prepareQueue(join(place, 'queue'))
  writeFileSync(join(place, 'queue', 'postgres', 'PG_VERSION'), 'nonsense')

  await expect(openBackend('embedded', { folder: place })).rejects.toMatchObject({
    code: 'queue',
    message: expect.stringMatching(/Check that its disk has room and works.*move that folder away/),
  })
  expect(existsSync(join(place, 'queue', 'lock'))).toBe(false)
})
