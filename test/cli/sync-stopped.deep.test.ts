import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { hang, refusal } from '../support/fault-server.ts'
import { onlyRun } from '../support/json-page.ts'
import { valueOf } from '../support/mirror-file.ts'
import { startCli } from '../support/run-cli.ts'
import { aFaultServer, aWorkplace, organizationAt } from '../support/workplace.ts'

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
