import { expect, test } from 'vitest'
import { runsAfterPause } from '../../../jobs/commands/list-schedule.ts'

const at = (text: string) => Date.parse(`${text}Z`)
const NIGHTLY = { cron: '0 2 * * *', timezone: 'UTC', spreadMs: 0 }

test.each([
  ['nothing was missed', NIGHTLY, '2026-03-05T01:00', ['2026-03-05T02:00', '2026-03-06T02:00']],
  ['a run was missed', NIGHTLY, '2026-03-05T12:00', ['2026-03-05T12:00', '2026-03-06T02:00']],
])('the first runs after a pause: %s', (_what, schedule, until, expected) => {
  const lastRun = { readAsOfMs: at('2026-03-04T02:05') }
  const runs = runsAfterPause({ organization: 'acme', schedule }, lastRun, { untilMs: at(until) }, 2)

  expect(runs.map(({ atMs }) => atMs)).toEqual(expected.map(at))
})

test('no run is known after a pause without an end', () => {
  expect(runsAfterPause({ organization: 'acme', schedule: NIGHTLY }, undefined, { untilMs: undefined }, 5)).toEqual([])
})
