import { expect, test } from 'vitest'
import { customers, START_MS } from '../support/builders.ts'
import { aMirror, tamper } from '../support/mirror-file.ts'
import { DAY_MS, night, quickRun } from './nights.ts'

test('the latest runs of each organization come oldest first, without quick ones', async () => {
  const mirror = await aMirror()
  for (let n = 0; n < 5; n += 1) {
    await night(mirror, n, customers(1, 3 + n))
    await night(mirror, n, customers(1, 3), { organization: 'globex' })
    await quickRun(mirror, n, [])
  }
  tamper(mirror.file, 'UPDATE runs SET duration_ms = 1234')

  const runs = await mirror.listLatestRuns({ organizations: ['globex', 'acme', 'initech'], limit: 3 })

  expect(runs.map(({ organization, startedAtMs }) => [organization, (startedAtMs - START_MS) / DAY_MS])).toEqual(
    ['acme', 'globex'].flatMap((organization) => [2, 3, 4].map((n) => [organization, n])),
  )
  expect(runs[0]).toMatchObject({ status: 'complete', proof: 'proven', inserted: 1, updated: 0, durationMs: 1234 })
  expect(await mirror.listLatestRuns({ organizations: ['globex'], limit: 9 })).toHaveLength(5)
})

test('a run is under way while it holds its lease, and no longer', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 3))
  const nowMs = START_MS + DAY_MS
  const run = await mirror.startRun({ organization: 'acme', trigger: 'schedule', nowMs })
  const at = (ms: number) => mirror.listUnderway({ nowMs: ms, monotonicMs: undefined })

  expect(await at(nowMs + 1000)).toEqual([
    {
      organization: 'acme',
      runId: run.id,
      startedAtMs: nowMs,
      holder: expect.stringContaining(`#${process.pid}#`),
      isQuick: false,
      readBefore: 0,
      read: 0,
      total: undefined,
    },
  ])
  expect(await at(nowMs + 61_000)).toEqual([])
})
