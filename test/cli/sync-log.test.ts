import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { syncCommand } from '../../src/cli/sync.ts'
import type { Sandbox } from '../../src/service/sandbox.ts'
import { eventually } from '../support/eventually.ts'
import { list, refusal } from '../support/fault-server.ts'
import { aGate } from '../support/gate.ts'
import { syncRuns } from '../support/json-output.ts'
import { LAUNCHER } from '../support/launcher.ts'
import { rowsOf } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { aFaultServer, aSandbox, aWorkplace, organizationAt, organizationsOf } from '../support/workplace.ts'

type Line = {
  level: string
  msg: string
  report?: { organization: string; received: number }
  error?: { code: string }
}

/** The lines of a log; throws where one is no JSON. */
const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line): Line => JSON.parse(line))

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
      readFileSync(new URL('../../docs/OPERATIONS.md', import.meta.url), 'utf8'),
    ) ?? []
  const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [3, 4] })))
  const { stderr } = await runCli(['sync', '--log-level', 'info'], { cwd: folder })
  const found = linesOf(stderr).flatMap((line) => (line.msg === msg ? [line.report] : []))

  expect(field).toBe('report')
  expect(found.map((report) => report?.received)).toEqual(expect.arrayContaining([3, 4]))
})

test('a log that the disk has no room for goes on when there is room again', async () => {
  const gate = aGate({ key: () => sandbox.organizations[1]?.apiKey ?? '' })
  const sandbox: Sandbox = await aSandbox({ customers: [3, 4], intercept: gate.intercept })
  const { folder, mirror } = aWorkplace(organizationsOf(sandbox))
  const log = join(folder, 'log')
  writeFileSync(log, Buffer.alloc(MEBIBYTE))
  // No file may be larger, which the system says of a write as it does of a full disk.
  const limited = `ulimit -f 1024; exec '${process.execPath}' '${LAUNCHER}' sync --log-level info 2>> log`
  const child = spawn('/bin/bash', ['--norc', '-c', limited], { cwd: folder, stdio: 'ignore' })
  const ended = once(child, 'exit')
  onTestFinished(() => void child.kill('SIGKILL'))
  await gate.reached
  await eventually(
    () => rowsOf(mirror, `SELECT 1 FROM runs WHERE status = 'complete'`),
    (complete) => complete.length === 1,
  )
  truncateSync(log)
  gate.open()
  await ended

  expect(linesOf(readFileSync(log, 'utf8')).map(({ report }) => report?.organization)).toContain('globex')
})

const MEBIBYTE = 1024 * 1024

test('a wait is in the log too', async () => {
  const server = await aFaultServer(refusal(429, 'rate_limited', 'Slow down.', { 'Retry-After': '1' }), list(3))
  const { config } = aWorkplace([organizationAt(server)])
  const { stderr } = await runCommand(syncCommand, ['--log-level', 'info', '--config', config])

  expect(linesOf(stderr)).toMatchObject([
    { msg: 'run slowed down', organization: 'acme', event: { kind: 'waiting', reason: 'rate-limited' } },
    { msg: 'run complete' },
  ])
})

test.each<[what: string, args: string[], settings: object, code: string]>([
  ['an unknown organization', ['globx'], {}, 'usage'],
  ['a configuration that is not there', ['--config', 'none.yaml'], {}, 'config'],
  ['a mirror that cannot be made', [], { mirror: '/dev/null/customers.db' }, 'mirror-unreadable'],
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
