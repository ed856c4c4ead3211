import { once } from 'node:events'
import { expect, inject, test } from 'vitest'
import { syncCommand } from '../../src/cli/sync.ts'
import { list, type Reply } from '../support/fault-server.ts'
import { onlyRun } from '../support/json-page.ts'
import { rowsOf, valueOf } from '../support/mirror-file.ts'
import { startCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { aFaultServer, aWorkplace, organizationAt } from '../support/workplace.ts'

const SIGNALS = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const

test.each(SIGNALS.slice(0, inject('isDeep') ? 2 : 1))(
  '%s keeps the pages that were read, says so, and ends with %d',
  async (signal, expected) => {
    const server = await aFaultServer(list(1_000_000))
    const { folder, mirror } = aWorkplace([organizationAt(server)], ONE_AT_A_TIME)
    const running = startCli(['sync', '--json'], { cwd: folder })
    await expect.poll(() => server.requests.length).toBeGreaterThan(2)
    running.send(signal)
    const { code, stdout, stderr } = await running.ended
    const { pages } = onlyRun(stdout)

    expect(code).toBe(expected)
    expect(onlyRun(stdout)).toMatchObject({
      status: 'interrupted',
      received: pages * 100,
      error: { code: 'interrupted' },
    })
    expect(onlyRun(stdout).error?.message).toMatch(/stopped as asked.*are saved; sync again to continue/)
    expect(stderr).toMatch(/^■ acme: stopped\n {2}[\d,]+ customers read so far are saved/m)
    expect(server.requests).toHaveLength(pages)
    expect(valueOf(mirror, 'SELECT COUNT(*) FROM customers')).toBe(pages * 100)
    expect(rowsOf(mirror, 'SELECT status, pages FROM runs')).toEqual([{ status: 'interrupted', pages }])
    expect(rowsOf(mirror, 'SELECT * FROM leases')).toEqual([])
  },
)

test('the current page is finished and kept when the stop comes, and no other is requested', async () => {
  const stop = new AbortController()
  const stopsThenAnswers: Reply = async (response, request) => {
    stop.abort()
    await list(300)(response, request)
  }
  const server = await aFaultServer(list(300), stopsThenAnswers, list(300))
  const { config, mirror } = aWorkplace([organizationAt(server)], ONE_AT_A_TIME)
  const { stdout } = await runCommand(syncCommand, ['--json', '--config', config], stop.signal)

  expect(onlyRun(stdout)).toMatchObject({ status: 'interrupted', pages: 2, received: 200 })
  expect(valueOf(mirror, 'SELECT COUNT(*) FROM customers')).toBe(200)
  expect(server.requests).toHaveLength(2)
})

test('the next sync finishes the work of a stopped one', async () => {
  const stop = new AbortController()
  const server = await aFaultServer(list(250), hangsUntil(stop), list(250))
  const { config, mirror } = aWorkplace([organizationAt(server)], ONE_AT_A_TIME)
  await runCommand(syncCommand, ['--config', config], stop.signal)
  const { code, stdout } = await runCommand(syncCommand, ['--json', '--config', config])

  expect(code).toBe(0)
  expect(onlyRun(stdout)).toMatchObject({ status: 'complete', received: 250, inserted: 150, unchanged: 100 })
  expect(valueOf(mirror, 'SELECT COUNT(*) FROM customers')).toBe(250)
})

const ONE_AT_A_TIME = { defaults: { concurrency: 1, maxWait: '0s' } }

/** Asks for the stop and hangs up. */
function hangsUntil(stop: AbortController): Reply {
  return async (response) => {
    stop.abort()
    response.destroy()
    await once(response, 'close')
  }
}
