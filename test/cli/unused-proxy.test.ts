import { expect, test } from 'vitest'
import { list, refusal } from '../support/fault-server.ts'
import { runCli } from '../support/run-cli.ts'
import { aFaultServer, aWorkplace, organizationAt } from '../support/workplace.ts'

const UNUSED = 'HTTPS_PROXY is set, but requests go to the service directly'

test('check says that a proxy of the environment is not used, where the service cannot be reached', async () => {
  const server = await aFaultServer(list(1))
  const { folder } = aWorkplace([organizationAt(server)])
  await server.close()
  const check = (HTTPS_PROXY: string) => runCli(['check'], { cwd: folder, env: { HTTPS_PROXY } })

  expect((await check('http://proxy.example.com:3128')).stdout).toContain(UNUSED)
  expect((await check('')).stdout).not.toContain('PROXY')
})

test.each([
  ['answers', list(1)],
  ['refuses', refusal(403, 'forbidden', 'Upgrade.')],
  ['fails', refusal(503, 'down', 'Later.')],
])('check says nothing about a proxy where the service %s', async (_, reply) => {
  const { folder } = aWorkplace([organizationAt(await aFaultServer(reply))])
  const { stdout } = await runCli(['check'], { cwd: folder, env: { HTTPS_PROXY: 'http://proxy.example.com:3128' } })

  expect(stdout).not.toContain('PROXY')
})
