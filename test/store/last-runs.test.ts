import { expect, test } from 'vitest'
import { anEnding, customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { aMirror, mirrorPages } from '../support/mirror-file.ts'

test('the last run of each organization is listed, with the start of its last complete one', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, 2)], { organization: 'acme', atMs: START_MS })
  await mirrorPages(mirror, [], {
    organization: 'acme',
    atMs: START_MS + MINUTE_MS,
    ending: { status: 'failed', error: { code: 'unauthorized', message: 'no' } },
  })
  await mirrorPages(mirror, [], {
    organization: 'globex',
    atMs: START_MS,
    ending: { ...anEnding(), reasons: ['page-limit'], readToEnd: false },
  })
  await mirror.startRun({ organization: 'initech', trigger: 'schedule', nowMs: START_MS })

  expect(await mirror.listLastRuns()).toEqual([
    {
      organization: 'acme',
      startedAtMs: START_MS + MINUTE_MS,
      firstRunAtMs: START_MS,
      endedAtMs: START_MS + MINUTE_MS,
      status: 'failed',
      errorCode: 'unauthorized',
      completeAsOfMs: START_MS,
    },
    {
      organization: 'globex',
      startedAtMs: START_MS,
      firstRunAtMs: START_MS,
      endedAtMs: START_MS,
      status: 'complete',
      errorCode: undefined,
      completeAsOfMs: undefined,
    },
    {
      organization: 'initech',
      startedAtMs: START_MS,
      firstRunAtMs: START_MS,
      endedAtMs: undefined,
      status: 'running',
      errorCode: undefined,
      completeAsOfMs: undefined,
    },
  ])
})

test('a quick run is not the last run, whatever became of it; its error is known until the next run', async () => {
  const mirror = await aMirror()
  const quick = { reasons: ['quick'], readToEnd: false }
  await mirrorPages(mirror, [customers(1, 2)], { atMs: START_MS })
  await mirrorPages(mirror, [], { atMs: START_MS + MINUTE_MS, isQuick: true, ending: { ...quick, status: 'partial' } })
  const [partial] = await mirror.listLastRuns()
  await mirrorPages(mirror, [], {
    atMs: START_MS + 2 * MINUTE_MS,
    isQuick: true,
    ending: { ...quick, status: 'failed', error: { code: 'unauthorized', message: 'no' } },
  })
  const [failed] = await mirror.listLastRuns()
  await mirrorPages(mirror, [customers(1, 2)], { atMs: START_MS + 3 * MINUTE_MS })
  const [read] = await mirror.listLastRuns()

  const first = { startedAtMs: START_MS, status: 'complete', errorCode: undefined, completeAsOfMs: START_MS }
  expect(partial).toMatchObject({ ...first, quickErrorCode: undefined })
  expect(failed).toMatchObject({ ...first, quickErrorCode: 'unauthorized' })
  expect(read).toMatchObject({ startedAtMs: START_MS + 3 * MINUTE_MS, quickErrorCode: undefined })
})
