import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { hang, list } from '../support/fault-server.ts'
import { onlyRun } from '../support/json-page.ts'
import { rowsOf, valueOf } from '../support/mirror-file.ts'
import { startCli } from '../support/run-cli.ts'
import { aFaultServer, aWorkplace, organizationAt } from '../support/workplace.ts'

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
