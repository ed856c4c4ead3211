import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openEmbedded } from '../../../../jobs/queue/embedded.ts'
import { prepareQueue } from '../../../support/jobs-workplace.ts'
import { temporaryFolder } from '../../../support/temp-folder.ts'
import { withoutPrivileges } from '../../../support/unprivileged.ts'

test('the folder of an embedded queue that this user may not enter is not called a server with a wrong password', async () => {
  const folder = temporaryFolder()
  const queue = join(folder, 'closed', 'queue')
  mkdirSync(queue, { recursive: true })
  chmodSync(folder, 0o755)
  chmodSync(join(folder, 'closed'), 0o000)

  const opened = withoutPrivileges(() => openEmbedded(queue, 'customer-mirror'))

  await expect(opened).rejects.toThrow(
    `The folder of the embedded queue, ${queue}, cannot be used (EACCES). It belongs`,
  )
  chmodSync(join(folder, 'closed'), 0o700)
})

test('a file in the place of the folder of an embedded queue is named', async () => {
  const queue = join(temporaryFolder(), 'queue')
  writeFileSync(queue, '')

  await expect(openEmbedded(queue, 'customer-mirror')).rejects.toThrow(
    `The folder of the embedded queue, ${queue}, cannot be used (ENOTDIR). Repair what the system names`,
  )
})

test('an embedded queue that PostgreSQL cannot open may lack room, a sound disk or open files', async () => {
  const queue = join(temporaryFolder(), 'queue')
  mkdirSync(queue)
  writeFileSync(join(queue, 'postgres'), '')

  await expect(openEmbedded(queue, 'customer-mirror')).rejects.toThrow(
    /cannot be opened\. Check that its disk has room and works, and that a process may have enough files open \(ulimit -n\)/,
  )
})

test('an embedded queue opens again after its process was killed while PostgreSQL made its lock file', async () => {
  const queue = join(temporaryFolder(), 'queue')
  prepareQueue(queue)
  writeFileSync(join(queue, 'postgres', 'postmaster.pid'), '')
  const again = await openEmbedded(queue, 'customer-mirror')

  await expect(again.write()).resolves.toBeUndefined()
  await again.close()
})
