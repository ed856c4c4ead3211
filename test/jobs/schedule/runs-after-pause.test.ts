import { expect, test } from 'vitest'
import { runsAfterPause } from '../../../jobs/schedule/runs-after-pause.ts'

const at = (text: string) => Date.parse(`${text}Z`)
const NIGHTLY = { cron: '0 2 * * *', timezone: 'UTC', spreadMs: 0 }
const LATE_HOURS = { ...NIGHTLY, window: { fromMinute: 22 * 60, toMinute: 6 * 60 } }

test.each([
  ['nothing was missed', NIGHTLY, '2026-03-05T01:00', ['2026-03-05T02:00', '2026-03-06T02:00']],
  ['a run was missed', NIGHTLY, '2026-03-05T12:00', ['2026-03-05T12:00', '2026-03-06T02:00']],
  [
    'a run was missed, and none may start yet',
    LATE_HOURS,
    '2026-03-05T12:00',
    ['2026-03-05T22:00', '2026-03-06T02:00'],
  ],
])('the first runs after a pause: %s', (_what, schedule, until, expected) => {
  const lastRun = { completeAsOfMs: at('2026-03-04T02:05') }
  const runs = runsAfterPause({ organization: 'acme', schedule }, lastRun, { untilMs: at(until) }, 2)

  expect(runs.map(({ atMs }) => atMs)).toEqual(expected.map(at))
})

test('a quick run that was missed is not made up for', () => {
  const quick = { organization: 'acme', schedule: { ...NIGHTLY, cron: '*/15 * * * *' }, isQuick: true } as const
  const runs = runsAfterPause(quick, undefined, { untilMs: at('2026-03-05T12:05') }, 1)

  expect(runs.map(({ atMs }) => atMs)).toEqual([at('2026-03-05T12:15')])
})

test('no run is known after a pause without an end', () => {
  expect(runsAfterPause({ organization: 'acme', schedule: NIGHTLY }, undefined, { untilMs: undefined }, 5)).toEqual([])
})
