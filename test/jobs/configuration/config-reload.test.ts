import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { expect, test } from 'vitest'
import { pause } from '../../../jobs/pauses/pauses.ts'
import { putOffOf } from '../../../jobs/pauses/put-off.ts'
import { eventually } from '../../support/eventually.ts'
import { aJobsWorkplace, isEmbedded, someQueues } from '../../support/jobs-workplace.ts'
import { startCli } from '../../support/run-cli.ts'
import { startWorker } from '../../support/worker-here.ts'
import { message } from '../../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'
import { aPlaceOf } from '../../support/reloading-worker.ts'

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

  test('a job of an organization whose file is on the way waits for it', async () => {
    const { place, organizations } = await aPlaceOf(2)
    const [acme, globex] = organizations
    const { worker, write } = await aBlindWorker(place, [acme], { unknownWaitMs: 300 })
    const { queues } = await someQueues(place.queue, place.mirror)
    const { id = '' } = await queues.requestSync('globex', 'manual')
    await worker.said(message('organization is not in this configuration yet, its job waits'))
    const waiting = await eventually(
      async () => putOffOf((await queues.sync.getJob(id)) ?? { progress: 0 }),
      (putOff) => putOff !== undefined,
    )
    write([acme, globex])
    await worker.ran('globex')

    expect(waiting).toEqual({ why: 'configuration', untilMs: expect.any(Number) })
    expect(worker.lines.join()).not.toContain('run given up')
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
}

const NEVER = 3_600_000

/** A worker that does not watch its file, and reads it again only for a job of an organization that it does not know. */
async function aBlindWorker(
  place: ReturnType<typeof aJobsWorkplace>,
  before: readonly unknown[],
  { unknownWaitMs = 50 } = {},
) {
  // No change is reported where the file is behind a link.
  const link = join(place.folder, 'data', 'link.yaml')
  symlinkSync(place.config, link)
  const document: object = parse(readFileSync(place.config, 'utf8'))
  const write = (organizations: readonly unknown[]) =>
    writeFileSync(place.config, stringify({ ...document, mirror: place.mirror, organizations }))
  write(before)
  const worker = startWorker({ config: link }, { timings: { configLookMs: NEVER, reconcileMs: NEVER, unknownWaitMs } })
  await worker.ran('acme')
  return { worker, write }
}
