import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lockPlace } from '../../src/copies/written-file.ts'
import { json } from '../support/fault-server.ts'
import { runCli, startCli } from '../support/run-cli.ts'
import { aFaultServer, aSandbox, aWorkplace, organizationAt, organizationsOf } from '../support/workplace.ts'

async function aPlace(publish?: object) {
  const place = aWorkplace(organizationsOf(await aSandbox({ customers: [12, 3] })))
  const run = (...args: string[]) => runCli(args, { cwd: place.folder })
  await run('sync')
  if (publish !== undefined) appendFileSync(place.config, `publish: ${JSON.stringify(publish)}\n`)
  return { ...place, run }
}

test('names the organizations that are left out', async () => {
  const server = await aFaultServer(json(503, {}))
  const { folder } = aWorkplace([organizationAt(server, { maxWait: '0s' })])
  await runCli(['sync'], { cwd: folder })

  expect(await runCli(['publish', 'copies/x.db'], { cwd: folder })).toMatchObject({
    ...{ code: 0, stdout: expect.stringContaining('Not in a copy: acme, whose list was never read to its end\n') },
  })
})

test('Ctrl-C ends it with 130, and the copy from before stays', async () => {
  const { folder, run } = await aPlace({ file: 'copies/x.db' })
  await run('publish')
  const copy = join(folder, 'copies', 'x.db')
  const before = readFileSync(copy)
  // The lock of the copy is held, so the publish waits.
  const lock = lockPlace(copy)
  const publishing = startCli(['publish'], { cwd: folder })
  await expect.poll(() => publishing.send('SIGINT')).toBeUndefined()
  const { code, signal } = await publishing.ended
  lock.release()

  expect(code === 130 || signal === 'SIGINT').toBe(true)
  expect(readFileSync(copy).equals(before)).toBe(true)
})
