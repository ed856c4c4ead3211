import { expect, test } from 'vitest'
import { pause } from '../../../jobs/pauses.ts'
import { ALL } from '../../../src/model/pause.ts'
import { rowsOf, valueOf } from '../../support/mirror-file.ts'
import { aPausedPlace, readiness, startWorker } from '../../support/worker-log.ts'

test('a pause with an end ends by itself', async () => {
  const { place, inQueue } = await aPausedPlace()
  const untilMs = Date.now() + 1000
  await inQueue(({ values }) => pause(values, [ALL], { nowMs: Date.now(), untilMs }))
  const worker = startWorker(place)
  await worker.ran('acme')
  await worker.ran('globex')

  const { paused } = await readiness(worker)
  expect(paused).toBeUndefined()
  for (const { started } of rowsOf(place.mirror, 'SELECT started_at AS started FROM runs'))
    expect(Date.parse(`${String(started).replace(' ', 'T')}Z`)).toBeGreaterThanOrEqual(untilMs)
  expect(valueOf(place.mirror, 'SELECT count(*) FROM runs')).toBe(2)
})
