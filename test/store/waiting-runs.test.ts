import { expect, test } from 'vitest'
import { anEnding, aPage, customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { aMirror } from '../support/mirror-file.ts'

test('freshness shows a waiting run, and the next run continues it', async () => {
  const mirror = await aMirror()
  const start = { organization: 'acme', trigger: 'schedule', resumeWithinMs: 60 * MINUTE_MS } as const
  const first = await mirror.startRun({ ...start, nowMs: START_MS })
  const window = { page: 1, size: 10, perPage: 10, total: 20, lastPage: 2, beyondEnd: false }
  await mirror.savePages(first, [{ ...aPage(1, customers(1, 10)), window }], START_MS)
  const error = { code: 'rate-limited', message: 'told to wait 90 s' }
  await mirror.finishRun(first, anEnding({ status: 'waiting', reasons: ['waiting'], error }), START_MS + MINUTE_MS)

  expect(await mirror.listFreshness()).toMatchObject([{ lastRunId: 1, lastStatus: 'waiting' }])
  expect(await mirror.listLastRuns()).toMatchObject([{ status: 'waiting', errorCode: 'rate-limited' }])
  expect(await mirror.startRun({ ...start, nowMs: START_MS + 2 * MINUTE_MS })).toMatchObject({ resumedFrom: 1 })
})
