import { expect, test } from 'vitest'
import { readPauses } from '../../jobs/pauses.ts'
import { ALL, pauseEndedMs, pauseOf } from '../../src/model/pause.ts'
import { addsUp, emptyReport, noRecords, toJson } from '../../src/model/report.ts'
import { START_MS } from '../support/builders.ts'

test('numbers add up where every record is counted once; a customer returns in one that is updated or rejected, and in no other', () => {
  expect(addsUp({ ...noRecords(), received: 3, inserted: 1, duplicates: 1, suppressed: 1 })).toBe(true)
  expect(addsUp({ ...noRecords(), received: 3, inserted: 1, duplicates: 1 })).toBe(false)
  expect(addsUp({ ...noRecords(), received: 1, unchanged: 1, returned: 1 })).toBe(false)
  expect(addsUp({ ...noRecords(), received: 1, updated: 1, returned: 1 })).toBe(true)
  expect(addsUp({ ...noRecords(), received: 1, rejected: 1, returned: 1 })).toBe(true)
})

test('a report in JSON has each number and each time under its own name', () => {
  const numbers = {
    ...{ requests: 1, pages: 2, received: 3, inserted: 4, updated: 5, unchanged: 6, duplicates: 7, rejected: 8 },
    ...{ missing: 9, removed: 10, returned: 11, held: 12, throttled: 13, waitedMs: 14, durationMs: 15 },
    ...{ runId: 16, resumedFrom: 17, readBefore: 18, suppressed: 19, trustedPages: 20, searchesRefused: 21 },
  }
  const report = emptyReport({ organization: 'acme', trigger: 'sync', startedAtMs: START_MS })
  const told = { status: 'complete', proof: 'proven', reasons: ['why'] } as const
  const times = { readAsOfMs: START_MS - 1000, finishedAtMs: START_MS + 15 }

  expect(toJson({ ...report, ...numbers, ...told, reasons: ['why'], ...times })).toEqual({
    ...{ ...numbers, organization: 'acme', ...told, error: null },
    ...{ readAsOf: '2026-01-05T01:59:59.000Z', startedAt: '2026-01-05T02:00:00.000Z' },
    finishedAt: '2026-01-05T02:00:00.015Z',
  })
})

const NOW = 1_000_000
const stated = (sinceMs: number, untilMs?: number, resumedMs?: number) => ({ sinceMs, untilMs, resumedMs })
const paused = (sinceMs: number, untilMs?: number) => ({ sinceMs, untilMs })

test.each([
  ['nothing was said', {}, undefined, undefined],
  ['it is paused', { acme: stated(5) }, paused(5), undefined],
  ['it is paused until later', { acme: stated(5, NOW + 1) }, paused(5, NOW + 1), undefined],
  ['its pause has ended by itself', { acme: stated(5, NOW) }, undefined, NOW],
  ['it was resumed', { acme: stated(5, undefined, 90) }, undefined, 90],
  ['all are paused', { [ALL]: stated(7, NOW + 9) }, paused(7, NOW + 9), undefined],
  ['it was resumed although all are paused', { acme: stated(5, undefined, 90), [ALL]: stated(7) }, undefined, 90],
  ['both are paused, all for longer', { acme: stated(5, NOW + 1), [ALL]: stated(7) }, paused(5), undefined],
  ['both are, it for longer', { acme: stated(9, NOW + 5), [ALL]: stated(7, NOW + 1) }, paused(7, NOW + 5), undefined],
])('%s', (_what, all, now, endedMs) => {
  const pauses = new Map(Object.entries(all))

  expect(pauseOf(pauses, 'acme', NOW)).toEqual(now)
  expect(pauseEndedMs(pauses, 'acme', NOW)).toBe(endedMs)
})

test.each(['', '{}', '{"since":"soon"}', '{'])('%s is no pause', async (text) => {
  expect(await readPauses({ list: async () => new Map([['pause:acme', text]]) })).toEqual(new Map())
})
