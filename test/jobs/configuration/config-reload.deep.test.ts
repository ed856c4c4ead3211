import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { expect, test } from 'vitest'
import { aJobsWorkplace, isEmbedded, someQueues } from '../../support/jobs-workplace.ts'
import { runCli, startCli } from '../../support/run-cli.ts'
import { startWorker } from '../../support/worker-here.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'
import { aPlaceOf } from '../../support/reloading-worker.ts'

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
