import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { aJobsWorkplace, isEmbedded, someQueues } from '../../support/jobs-workplace.ts'
import { startCli } from '../../support/run-cli.ts'
import { aPlaceOf, message, startWorker } from '../../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

test('SIGHUP has a worker read its configuration at once, and ends no run', async () => {
  const sandbox = await aSandbox({ customers: [3, 3] })
  const [acme, globex] = organizationsOf(sandbox)
  if (acme === undefined || globex === undefined) throw new Error('two organizations were asked for')
  const place = aJobsWorkplace([acme])
  const worker = startCli(['worker', '--config', place.config, '--port', '0'], { cwd: place.folder })
  await worker.lineOnStderr(/"worker started"/)
  await worker.lineOnStderr(/"run complete"/)
  const document: object = parse(readFileSync(place.config, 'utf8'))
  worker.send('SIGHUP')
  await worker.lineOnStderr(/"changed":false.*"configuration read again"/)
  writeFileSync(place.config, stringify({ ...document, organizations: [acme, globex] }))
  await worker.lineOnStderr(/"changed":true.*"configuration read again"/)
  await worker.lineOnStderr(/"organization":"globex".*"run complete"/)
  worker.send('SIGTERM')

  expect(await worker.ended).toMatchObject({ code: 143, stdout: '' })
})

// Other processes cannot add to the embedded queue.
if (!isEmbedded) {
  test('a job of an organization that is on its way in the file waits for it, and one that is in no file is given up', async () => {
    const { place, organizations } = await aPlaceOf(2)
    const document: object = parse(readFileSync(place.config, 'utf8'))
    const write = (written: readonly unknown[]) =>
      writeFileSync(place.config, stringify({ ...document, organizations: written }))
    write(organizations.slice(0, 1))
    const worker = startWorker(place)
    const { queues } = await someQueues(place.queue, place.mirror)
    await queues.request('sync', 'globex', 'manual')
    await worker.said(message('job left to other workers'))
    write(organizations)
    await worker.ran('globex')
    await queues.request('sync', 'umbrella', 'manual')
    const gone = await worker.ran('umbrella', 'give-up')

    expect(gone.report).toMatchObject({ error: { message: expect.stringContaining('no longer in the configuration') } })
    expect(await queues.sync.getDelayed()).toEqual([])
  })
}
