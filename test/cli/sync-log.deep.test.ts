import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { syncCommand } from '../../src/cli/sync.ts'
import type { Sandbox } from '../../src/service/sandbox.ts'
import { linesOf } from '../support/commands.ts'
import { eventually } from '../support/eventually.ts'
import { list, refusal } from '../support/fault-server.ts'
import { aGate } from '../support/gate.ts'
import { rowsOf } from '../support/mirror-file.ts'
import { LAUNCHER } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { aFaultServer, aSandbox, aWorkplace, organizationAt, organizationsOf } from '../support/workplace.ts'

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

test('a wait is in the log too', async () => {
  const server = await aFaultServer(refusal(429, 'rate_limited', 'Slow down.', { 'Retry-After': '1' }), list(3))
  const { config } = aWorkplace([organizationAt(server)])
  const { stderr } = await runCommand(syncCommand, ['--log-level', 'info', '--config', config])

  expect(linesOf(stderr)).toMatchObject([
    { msg: 'run slowed down', organization: 'acme', event: { kind: 'waiting', reason: 'rate-limited' } },
    { msg: 'run complete' },
  ])
})

const MEBIBYTE = 1024 * 1024
