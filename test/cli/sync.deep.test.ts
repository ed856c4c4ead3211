import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { Sandbox } from '../../src/service/sandbox.ts'
import { linesOf } from '../support/commands.ts'
import { eventually } from '../support/eventually.ts'
import { hang, list, refusal } from '../support/fault-server.ts'
import { aGate } from '../support/gate.ts'
import { onlyRun } from '../support/json-page.ts'
import { rowsOf, valueOf } from '../support/mirror-file.ts'
import { LAUNCHER, startCli } from '../support/run-cli.ts'
import { aFaultServer, aSandbox, aWorkplace, organizationAt, organizationsOf } from '../support/workplace.ts'

const MEBIBYTE = 1024 * 1024

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

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s keeps the pages that were read, says so, and ends with %d', async (signal, expected) => {
  const server = await aFaultServer(list(1_000_000))
  const { folder, mirror } = aWorkplace([organizationAt(server)], { defaults: { concurrency: 1 } })
  const running = startCli(['sync', '--json'], { cwd: folder })
  await expect.poll(() => server.requests.length).toBeGreaterThan(2)
  running.send(signal)
  const { code, stdout, stderr } = await running.ended
  const { pages, ...run } = onlyRun(stdout)

  expect(code).toBe(expected)
  expect(run).toMatchObject({ status: 'interrupted', received: pages * 100, error: { code: 'interrupted' } })
  expect(stderr).toMatch(/^■ acme: stopped\n {2}stopped as asked\. The rows read so far are saved/m)
  expect(server.requests).toHaveLength(pages)
  expect(valueOf(mirror, 'SELECT COUNT(*) FROM customers')).toBe(pages * 100)
  expect(rowsOf(mirror, 'SELECT * FROM leases')).toEqual([])
})

test('a stop ends a long wait at once', async () => {
  const server = await aFaultServer(refusal(429, 'rate_limited', 'Slow down.', { 'Retry-After': '600' }))
  const { folder } = aWorkplace([organizationAt(server)])
  const running = startCli(['sync', '--json', '--log-level', 'info'], { cwd: folder })
  await running.lineOnStderr(/run slowed down/)
  running.send('SIGTERM')
  const { code, stdout } = await running.ended

  expect(code).toBe(143)
  expect(onlyRun(stdout)).toMatchObject({ status: 'interrupted', received: 0 })
})

test('a second Ctrl-C ends the program at once, even during a page', async () => {
  const server = await aFaultServer(hang())
  const { folder, mirror } = aWorkplace([organizationAt(server)], { defaults: { requestTimeout: '1h' } })
  const running = startCli(['sync'], { cwd: folder })
  await expect.poll(() => server.requests.length).toBe(1)
  const insisting = new AbortController()
  const insist = async () => {
    while (!insisting.signal.aborted) {
      running.send('SIGINT')
      await pause(100)
    }
  }
  const [{ code }] = await Promise.all([running.ended.finally(() => insisting.abort()), insist()])

  expect(code).toBe(130)
  expect(valueOf(mirror, 'PRAGMA integrity_check')).toBe('ok')
})
