import { expect, test } from 'vitest'
import { countsOf } from '../../../jobs/run/run-for-job.ts'
import { waitedOutcome, type EndedJob } from '../../../jobs/commands/waited-outcome.ts'
import { exitCodeOf } from '../../../src/cli/exit-code.ts'
import { emptyReport, type Report } from '../../../src/report.ts'

test('a complete run is shown as the mirror has it, proof included', () => {
  const run = aRun({ status: 'complete', proof: 'proven', received: 7, inserted: 7, durationMs: 12 })
  const counts = { ...countsOf(run), durationMs: 12.4 }

  expect(outcomeOf({ end: { end: 'completed', counts }, runs: [aRun({ runId: 9 }), run] })).toEqual({
    from: 'mirror',
    outcome: { report: run, error: undefined },
  })
})

test('a mirror that has no such run is not the one of the worker: the numbers of the queue are shown', () => {
  const other = aRun({ status: 'complete', received: 8 })
  const { from, outcome } = outcomeOf({
    end: { end: 'completed', counts: { received: 7, inserted: 7 } },
    runs: [other],
  })

  expect(from).toBe('queue')
  expect(outcome).toMatchObject({ error: undefined, report: { status: 'complete', received: 7, runId: undefined } })
})

test.each([
  ['of the service', 'unauthorized: acme: refused', 4],
  ['of an outage', 'network: acme: unreachable', 5],
  ['of a cancel', 'cancelled: acme: cancelled', 3],
  ['unexpected', 'unexpected: see the log of the worker', 1],
  ['of the queue itself', 'job stalled more than allowable limit', 5],
])('a failure %s ends with the exit code that sync has for it', (_what, reason, code) => {
  const { outcome } = outcomeOf({ end: { end: 'failed', reason } })

  expect(exitCodeOf(outcome.error)).toBe(code)
  expect(outcome.report).toMatchObject({ organization: 'acme', status: 'failed' })
})

test('a failure is shown as the mirror has it, and an older one with another reason is not', () => {
  const error = { code: 'network', message: 'acme: unreachable' }
  const run = aRun({ error, runId: 3 })
  const older = aRun({ error: { ...error, message: 'acme: too slow' }, runId: 2 })

  expect(outcomeOf({ end: { end: 'failed', reason: 'network: acme: unreachable' }, runs: [older, run] })).toMatchObject(
    {
      from: 'mirror',
      outcome: { report: { runId: 3 } },
    },
  )
})

test('a job that left the queue was cancelled, has a run in the mirror, or is to be requested again', () => {
  const lost = { end: 'lost' } as const
  const run = aRun({ status: 'complete' })

  expect(outcomeOf({ end: lost, isCancelled: true, runs: [run] }).outcome.error).toMatchObject({ code: 'cancelled' })
  expect(outcomeOf({ end: lost, runs: [run] })).toMatchObject({ from: 'mirror', outcome: { error: undefined } })
  expect(outcomeOf({ end: lost }).outcome.error).toMatchObject({ code: 'queue' })
})

test('a job that ended without a run says so', () => {
  const end = { end: 'completed', counts: {} } as const

  expect(outcomeOf({ end }).from).toBe('none-needed')
  expect(outcomeOf({ end, isQuick: true }).from).toBe('no-quick-run')
})

function outcomeOf(ended: Pick<EndedJob, 'end'> & Partial<EndedJob>) {
  return waitedOutcome({ organization: 'acme', isQuick: false, isCancelled: false, runs: [], nowMs: 0, ...ended })
}

function aRun(change: Partial<Report>): Report {
  return { ...emptyReport({ organization: 'acme', trigger: 'manual', startedAtMs: 0 }), runId: 1, ...change }
}
