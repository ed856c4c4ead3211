import { once } from 'node:events'
import { chmodSync, mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { checked } from '../support/commands.ts'
import { asPlainUser, startCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

const PLAIN_USER = asPlainUser()

test.runIf(PLAIN_USER)('folders in which neither a mirror nor a copy can be created are reported', async () => {
  const shut = join(temporaryFolder(), 'shut')
  mkdirSync(shut, { mode: 0o755 })
  chmodSync(shut, 0o555)
  chmodSync(join(shut, '..'), 0o777)
  const publish = { file: join(shut, 'in', 'readers.db') }
  const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [1] })), { publish })
  for (const place of [folder, join(folder, 'data'), join(folder, 'customer-mirror.yaml')]) chmodSync(place, 0o555)
  const done = await startCli(['check'], { cwd: folder, ...PLAIN_USER }).ended
  for (const place of [folder, join(folder, 'data')]) chmodSync(place, 0o700)

  expect(done.stdout).toMatch(/^✖ mirror: .*permission denied \(\w+, EACCES\)\. Check the name, who owns it/m)
  expect(done.stdout).toContain(`✖ publish: ${shut}/in/readers.db: permission denied (access, EACCES). `)
})

test.each(['redis', 'postgres'])('a server of a %s queue that does not answer is given up', async (kind) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const { code, stdout } = await checked({ queue: `${kind}://127.0.0.1:${port}/${kind === 'redis' ? 0 : 'jobs'}` })

  expect(code).toBe(5)
  expect(stdout).toMatch(/^✖ queue: .* cannot be used: (no answer within 2 s|.*time)/m)
})
