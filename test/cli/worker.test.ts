import { describe, expect, test } from 'vitest'
import { aJobsWorkplace, FAR_AWAY, isEmbedded, someQueues } from '../support/jobs-workplace.ts'
import { runCli } from '../support/run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

test('a worker without a queue says what to write, and ends with 2', async () => {
  const sandbox = await aSandbox({ customers: [1] })
  const place = aWorkplace(organizationsOf(sandbox))
  const { code, stderr } = await runCli(['worker', '--config', place.config], { cwd: place.folder })

  expect(code).toBe(2)
  expect(stderr).toContain('queue: redis://127.0.0.1:6379')
})

test('a schedule that names no day is a mistake of the configuration', async () => {
  const sandbox = await aSandbox({ customers: [1] })
  const place = aWorkplace(organizationsOf(sandbox), { schedule: { ...FAR_AWAY, cron: '0 2 31 2 *' } })
  const { code, stderr } = await runCli(['worker', '--embedded', '--config', place.config], { cwd: place.folder })

  expect(code).toBe(2)
  expect(stderr).toContain('schedule of acme: its cron line names no moment')
})

describe('run', () => {
  if (!isEmbedded) {
    test('puts one job into the queue, even if run is repeated', async () => {
      const sandbox = await aSandbox({ customers: [1, 1] })
      const place = aJobsWorkplace(organizationsOf(sandbox))
      const first = await runCli(['run', 'acme', 'globex', '--config', place.config], { cwd: place.folder })
      const second = await runCli(['run', 'acme', '--config', place.config], { cwd: place.folder })
      const { queues } = await someQueues(place.queue, place.mirror)

      expect(first).toMatchObject({ code: 0, stdout: 'acme: queued\nglobex: queued\n' })
      expect(second).toMatchObject({ code: 0, stdout: 'acme: is queued already\n' })
      const jobs = await queues.sync.getWaiting()
      expect(jobs.map(({ name, data }) => `${name} ${data.organization}`).toSorted()).toEqual([
        'manual acme',
        'manual globex',
      ])
    })
  }

  test('names an organization that does not exist, and ends with 2', async () => {
    const sandbox = await aSandbox({ customers: [1] })
    const place = aWorkplace(organizationsOf(sandbox), { queue: 'redis://127.0.0.1:1' })
    const { code, stderr } = await runCli(['run', 'acmee', '--config', place.config], { cwd: place.folder })

    expect(code).toBe(2)
    expect(stderr).toContain('did you mean')
  })

  test('says that an embedded queue cannot be asked', async () => {
    const sandbox = await aSandbox({ customers: [1] })
    const place = aWorkplace(organizationsOf(sandbox), { queue: 'embedded' })
    const { code, stderr } = await runCli(['run', 'acme', '--config', place.config], { cwd: place.folder })

    expect(code).toBe(2)
    expect(stderr).toContain('customer-mirror sync')
  })

  test('ends with 5 when the queue is not there', async () => {
    const sandbox = await aSandbox({ customers: [1] })
    const place = aWorkplace(organizationsOf(sandbox))
    const env = { CUSTOMER_MIRROR_QUEUE: 'redis://:made-up-password@127.0.0.1:1' }
    const { code, stderr } = await runCli(['run', 'acme', '--config', place.config], { cwd: place.folder, env })

    expect(code).toBe(5)
    expect(stderr).toContain('The queue at redis://127.0.0.1:1 cannot be used')
    expect(stderr).not.toContain('made-up-password')
  })
})
