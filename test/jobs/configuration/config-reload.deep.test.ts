import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { expect, test } from 'vitest'
import { aJobsWorkplace, isEmbedded, someQueues } from '../../support/jobs-workplace.ts'
import { runCli, startCli } from '../../support/run-cli.ts'
import { startWorker } from '../../support/worker-here.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'
import { aPlaceOf, aBlindWorker } from '../../support/reloading-worker.ts'
import { pause } from '../../../jobs/pauses/pauses.ts'

test('a mirror or a queue that is changed in the file is said to wait for a restart', async () => {
  const [acme] = organizationsOf(await aSandbox({ customers: [3] }))
  if (acme === undefined) throw new Error('an organization was asked for')
  const place = aJobsWorkplace([acme])
  const worker = startCli(['worker', '--config', place.config, '--port', '0'], { cwd: place.folder })
  await worker.lineOnStderr(/"worker started"/)
  const document: object = parse(readFileSync(place.config, 'utf8'))
  writeFileSync(place.config, stringify({ ...document, mirror: './elsewhere.db' }))
  const line = await worker.lineOnStderr(/"settings were changed that take effect at the next start"/)
  worker.send('SIGTERM')
  await worker.ended

  expect(line).toMatch(/"level":"warn".*"settings":\["mirror"\]/)
  expect(existsSync(join(place.folder, 'elsewhere.db'))).toBe(false)
})

// Other processes cannot add to the embedded queue.
if (!isEmbedded) {
  test('a job of an organization that is new in the file makes the worker read it, and one that is in no file is given up', async () => {
    const { place, organizations } = await aPlaceOf(2)
    const [acme, globex] = organizations
    const { worker, write } = await aBlindWorker(place, [acme])
    write([acme, globex])
    const { queues } = await someQueues(place.queue, place.mirror)
    await queues.requestSync('globex', 'manual')
    await worker.ran('globex')
    await queues.requestSync('umbrella', 'manual')
    const gone = await worker.ran('umbrella', 'give-up')

    expect(gone.report).toMatchObject({ error: { message: expect.stringContaining('no longer in the configuration') } })
    expect(await queues.sync.getDelayed()).toEqual([])
  })

  test('a job of a paused organization that is new in the file waits for the end of the pause', async () => {
    const { place, organizations } = await aPlaceOf(2)
    const [acme, globex] = organizations
    const { worker, write } = await aBlindWorker(place, [acme])
    const { backend, queues } = await someQueues(place.queue, place.mirror)
    await pause(backend.values, ['globex'], { nowMs: Date.now(), untilMs: undefined })
    write([acme, globex])
    await queues.requestSync('globex', 'manual')

    expect(await worker.said(({ organization }) => organization === 'globex')).toMatchObject({
      msg: 'run put off',
      why: 'pause',
    })
  })

  test('worker --once with another file leaves the schedules of a worker alone', async () => {
    const { place, organizations } = await aPlaceOf(2)
    const worker = startWorker(place)
    await Promise.all(organizations.map(({ id }) => worker.ran(id)))
    const { queues } = await someQueues(place.queue, place.mirror)
    const schedules = await queues.tick.getJobSchedulers()
    const other = join(place.folder, 'other.yaml')
    const document: object = parse(readFileSync(place.config, 'utf8'))
    writeFileSync(other, stringify({ ...document, organizations: organizations.slice(1) }))
    const { code } = await runCli(['worker', '--once', '--config', other], { cwd: place.folder })

    expect(code).toBe(0)
    expect(await queues.tick.getJobSchedulers()).toEqual(schedules)
    expect(worker.lines.join()).not.toContain('another configuration is accepted')
  })
}
