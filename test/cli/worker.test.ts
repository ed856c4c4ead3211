import { describe, expect, inject, test } from 'vitest'
import { openMirror } from '../../src/mirror/mirror.ts'
import { customers } from '../support/builders.ts'
import { aJobsWorkplace, aQueue, FAR_AWAY, isEmbedded, someQueues } from '../support/jobs-workplace.ts'
import { mirrorPages, rowsOf, valueOf } from '../support/mirror-file.ts'
import { runCli, startCli } from '../support/run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

describe('worker --once', () => {
  test('mirrors every organization through the queue, and ends with 0', async () => {
    const sandbox = await aSandbox({ customers: [250, 40] })
    const place = aJobsWorkplace(organizationsOf(sandbox))
    const { code, stdout } = await runCli(['worker', '--once', '--config', place.config], { cwd: place.folder })
    const { queues } = await someQueues(place.queue, place.mirror)

    expect(code).toBe(0)
    expect(stdout).toMatch(/acme +complete +250/)
    expect(stdout).toMatch(/globex +complete +40/)
    expect(await queues.sync.getJobCountByTypes('completed')).toBe(2)
    expect((await queues.tick.getJobSchedulers()).map(({ key }) => key).toSorted()).toEqual(['acme', 'globex'])
  })

  test.each([
    [4, 'refused', { forbidden: ['acme', 'globex'] }],
    [3, 'some refused', { forbidden: ['globex'] }],
    [5, 'throttled beyond maxWait', { rateLimits: [{ requests: 1, windowMs: 3_600_000 }] }],
  ])('ends with %d when organizations were %s', async (code, _what, options) => {
    const sandbox = await aSandbox({ customers: [250, 250], ...options })
    const place = aJobsWorkplace(organizationsOf(sandbox))

    expect(await runCli(['worker', '--once', '--config', place.config], { cwd: place.folder })).toMatchObject({ code })
    expect(valueOf(place.mirror, `SELECT count(*) FROM runs WHERE status = 'running'`)).toBe(0)
  })

  test('warns of removals held back, as sync does', async () => {
    const sandbox = await aSandbox({ customers: [3] })
    const place = aJobsWorkplace(organizationsOf(sandbox))
    const mirror = await openMirror(place.mirror)
    const removals = { rule: { after: 2, maxShare: 0.1 }, confirmed: new Set<string>() }
    const options = { organization: 'globex', ending: { proof: 'proven', reasons: [], removals } } as const
    await mirrorPages(mirror, [customers(1, 100)], options)
    await mirrorPages(mirror, [customers(51, 100)], options)
    await mirror.close()

    const { code, stderr } = await runCli(['worker', '--once', '--config', place.config], { cwd: place.folder })

    expect(code).toBe(0)
    expect(stderr).toContain('globex: 50 removals are held back by run 2, until you decide.')
    expect(stderr).toContain(`customer-mirror removals approve 2 --config ${place.config}\n`)
  })

  test('ends with 130 on Ctrl-C, and leaves the job for the next worker', async () => {
    const sandbox = await aSandbox({ customers: [5000], latencyMs: 200 })
    // To open the embedded queue in a process takes two seconds of a processor.
    const queue = inject('isDeep') ? 'embedded' : aQueue()
    const place = aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1 }), { queue })
    const running = startCli(['worker', '--once', '--config', place.config], { cwd: place.folder })
    while (valueOfSafely(place.mirror) === 0) await new Promise((resolve) => setTimeout(resolve, 50))
    running.send('SIGINT')

    expect(await running.ended).toMatchObject({ code: 130 })
    expect(rowsOf(place.mirror, 'SELECT status FROM runs')).toEqual([{ status: 'interrupted' }])
  })
})

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

  if (!isEmbedded) {
    test('goes ahead of the spread, but not of a wait the service asked for', async () => {
      const sandbox = await aSandbox({ customers: [1] })
      const place = aJobsWorkplace(organizationsOf(sandbox))
      const { queues } = await someQueues(place.queue, place.mirror)
      await queues.requestSync('acme', 'schedule', { delayMs: 3_600_000 })

      const { stdout } = await runCli(['run', 'acme', '--config', place.config], { cwd: place.folder })

      expect(stdout).toBe('acme: has a job that waited; it starts now\n')
      expect(await queues.sync.getJobCountByTypes('waiting')).toBe(1)
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

function valueOfSafely(file: string): unknown {
  try {
    return valueOf(file, 'SELECT count(*) FROM customers')
  } catch {
    return 0
  }
}
