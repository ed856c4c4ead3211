import { expect, test } from 'vitest'
import { pause } from '../../../jobs/pauses.ts'
import { someQueues } from '../../support/jobs-workplace.ts'
import { aBlindWorker, aPlaceOf } from '../../support/worker-log.ts'

test('a job of an organization that is new in the file makes the worker read it, and one that is in no file is given up', async () => {
  const { place, organizations } = await aPlaceOf(2)
  const [acme, globex] = organizations
  const { worker, write } = await aBlindWorker(place, [acme])
  write([acme, globex])
  const { queues } = await someQueues(place.queue, place.mirror)
  await queues.request('sync', 'globex', 'manual')
  await worker.ran('globex')
  await queues.request('sync', 'umbrella', 'manual')
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
  await queues.request('sync', 'globex', 'manual')

  expect(await worker.said(({ organization }) => organization === 'globex')).toMatchObject({
    msg: 'run put off',
  })
})
