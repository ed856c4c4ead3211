import { expect, test } from 'vitest'
import { syncCommand } from '../../src/cli/sync.ts'
import { hang } from '../support/fault-server.ts'
import { onlyRun } from '../support/json-page.ts'
import { rowsOf } from '../support/mirror-file.ts'
import { startCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { aFaultServer, aWorkplace, organizationAt } from '../support/workplace.ts'

test('while another run holds the organization, the program ends with 6 and changes nothing', async () => {
  const server = await aFaultServer(hang())
  const { folder, config, mirror } = aWorkplace([organizationAt(server)], { defaults: { requestTimeout: '1m' } })
  startCli(['sync'], { cwd: folder })
  await expect.poll(() => server.requests.length).toBe(1)
  const { code, stdout, stderr } = await runCommand(syncCommand, ['--json', '--config', config])

  expect(code).toBe(6)
  expect(onlyRun(stdout)).toMatchObject({
    status: 'failed',
    reasons: ['held'],
    readAsOf: null,
    error: { code: 'leased' },
  })
  expect(stderr).toMatch(/run 1 \(process .+\) is mirroring it now\. Let it finish, or stop it/)
  expect(server.requests).toHaveLength(1)
  expect(rowsOf(mirror, 'SELECT id, status FROM runs')).toEqual([{ id: 1, status: 'running' }])
})
