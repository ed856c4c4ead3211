import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { linesOf } from '../support/commands.ts'
import { list } from '../support/fault-server.ts'
import { syncRuns } from '../support/json-page.ts'
import { runCli } from '../support/run-cli.ts'
import { aFaultServer, aSandbox, aWorkplace, organizationAt, organizationsOf } from '../support/workplace.ts'

test('with --log-level every line of standard error is JSON, failures included, and results stay on standard output', async () => {
  const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [3, 4], forbidden: ['globex'] })))
  const { code, stdout, stderr } = await runCli(['sync', '--json', '--log-level', 'info'], { cwd: folder })

  expect(code).toBe(3)
  expect(syncRuns(stdout)).toHaveLength(2)
  expect(
    linesOf(stderr)
      .map(({ level, msg }) => `${level} ${msg}`)
      .toSorted(),
  ).toEqual(['error run failed', 'info run complete'])
})

test('the documented jq line finds the runs of a night', async () => {
  const [, msg = '', field = ''] =
    /jq 'select\(\.msg == "([^"]+)"\) \| \.(\w+)'/.exec(
      readFileSync(new URL('../../docs/operate/monitoring.md', import.meta.url), 'utf8'),
    ) ?? []
  const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [3, 4] })))
  const { stderr } = await runCli(['sync', '--log-level', 'info'], { cwd: folder })
  const found = linesOf(stderr).flatMap((line) => (line.msg === msg ? [line.report] : []))

  expect(field).toBe('report')
  expect(found.map((report) => report?.received)).toEqual(expect.arrayContaining([3, 4]))
})

test.each<[what: string, args: string[], settings: object, code: string]>([
  ['an unknown organization', ['globx'], {}, 'usage'],
  ['a configuration that is not there', ['--config', 'none.yaml'], {}, 'config'],
  ['a mirror that cannot be made', [], { mirror: '/dev/null/customers.db' }, 'denied'],
])('an error before a sync starts is logged: %s', async (_, args, settings, errorCode) => {
  const { folder } = aWorkplace([organizationAt(await aFaultServer(list(1)))], settings)
  const { code, stdout, stderr } = await runCli(['sync', '--log-level', 'error', ...args], { cwd: folder })
  const inWords = await runCli(['sync', ...args], { cwd: folder })

  expect({ code, stdout }).toEqual({ code: inWords.code, stdout: '' })
  expect(code).not.toBe(0)
  const [line, ...others] = linesOf(stderr)
  expect(others).toEqual([])
  expect(line).toMatchObject({ level: 'error', msg: 'sync failed', error: { code: errorCode } })
})
