import { describe, expect, inject, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { aGate } from '../../support/gate.ts'
import { someQueues } from '../../support/jobs-workplace.ts'
import { valueOf } from '../../support/mirror-file.ts'
import { aRedis, aWorkerOn, message } from '../../support/worker-log.ts'

const APPEND_ONLY: [how: string, appendOnly: boolean][] = [
  ['with its append-only file', true],
  ['without one', false],
]

describe('a Redis that', () => {
  test.each(APPEND_ONLY.slice(0, inject('isDeep') ? 2 : 1))(
    'is killed in the middle of a run and comes back %s lets the run go on',
    async (_how, appendOnly) => {
      const gate = aGate({ fromPage: 3 })
      const { redis, place, worker } = await aWorkerOn(await aRedis({ appendOnly }), gate)
      await gate.reached
      await redis.kill()
      await worker.said(message('queue lost'))
      gate.open()
      await eventually(
        () => valueOf(place.mirror, 'SELECT status FROM runs ORDER BY id'),
        (status) => status === 'complete',
      )
      await redis.start()
      await worker.said(message('queue back'))

      const { queues } = await someQueues(place.queue, place.mirror)
      expect(valueOf(place.mirror, 'SELECT count(*) FROM customers')).toBe(400)
      await queues.requestSync('acme', 'manual')
      await eventually(
        () => valueOf(place.mirror, `SELECT count(*) FROM runs WHERE status = 'complete'`),
        (runs) => Number(runs) > 1,
      )
      expect(worker.lines.filter((line) => line.includes('"queue lost"'))).toHaveLength(1)
    },
  )
})
