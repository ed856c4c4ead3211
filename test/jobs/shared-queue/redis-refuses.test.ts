import { describe, expect, inject, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { aGate } from '../../support/gate.ts'
import { someQueues } from '../../support/jobs-workplace.ts'
import { rowsOf } from '../../support/mirror-file.ts'
import { runCli } from '../../support/run-cli.ts'
import { aRedis } from '../../support/worker-on-redis.ts'
import { ORGANIZATIONS, REFUSALS, command, aPlaceOn } from '../../support/refusing-redis.ts'

const PASSWORD = 'made-up-password-of-the-queue'

describe.each(REFUSALS.slice(0, inject('isDeep') ? 2 : 1))('a Redis that %s', (_what, begin, _end, reason, remedy) => {
  test.each([
    ['run', 'acme'],
    ['worker', '--port', '0'],
    ['worker', '--once'],
  ])('ends `%s %s` with 5, and says why and what to do, without the password', async (...args) => {
    const redis = await aRedis({ password: PASSWORD })
    const place = await aPlaceOn(redis)
    await command(redis, begin)
    const { code, stdout, stderr } = await runCli(
      [...args.filter((arg) => arg !== undefined), '--config', place.config],
      {
        cwd: place.folder,
      },
    )

    expect({ code, stdout }).toEqual({ code: 5, stdout: '' })
    expect(stderr).toMatch(/^The queue at redis:\/\/127\.0\.0\.1:\d+ cannot be used: /)
    for (const part of [reason, remedy, "'customer-mirror sync' needs no queue"]) expect(stderr).toContain(part)
    expect(stderr).not.toMatch(/defect|Unexpected|^\s+at /m)
    expect(stderr).not.toContain(PASSWORD)
  })
})

test('worker --once ends with the reason when its queue refuses in the middle', async () => {
  const redis = await aRedis()
  const gate = aGate({ fromPage: 2 })
  const place = await aPlaceOn(redis, { organizations: ORGANIZATIONS, gate })
  const running = runCli(['worker', '--once', '--config', place.config], { cwd: place.folder })
  const { queues } = await someQueues(place.queue, place.mirror)
  await eventually(
    () => queues.sync.getJobCounts('active'),
    ({ active }) => active === ORGANIZATIONS - 1,
  )
  await command(redis, ['CONFIG', 'SET', 'maxmemory', '1'])
  gate.open()
  const { code, stdout, stderr } = await running

  expect(code).toBe(3)
  expect(stdout).toMatch(/failed: queue/)
  expect(stderr).toContain('raise its maxmemory')
  expect(rowsOf(place.mirror, `SELECT DISTINCT organization FROM runs WHERE status = 'complete'`)).toHaveLength(
    ORGANIZATIONS - 1,
  )
})
