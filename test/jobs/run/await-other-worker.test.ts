import { expect, test } from 'vitest'
import { emptyReport, type Report } from '../../../src/report.ts'
import { exitCodeOf } from '../../../src/cli/exit-code.ts'
import { START_MS } from '../../support/builders.ts'
import { endElsewhere, type Watching } from '../../../jobs/run/await-other-worker.ts'

const BEFORE = 6
const complete = aRun({ status: 'complete' })
const lost = { error: { code: 'queue' }, report: { status: 'failed', error: { code: 'queue' } } }

test('a run by another worker is the result', async () => {
  expect(await end({ runs: [[complete]] })).toEqual({ report: complete, error: undefined })
})

test('a run is the result even if the clock was set back before it began', async () => {
  const earlier = { ...complete, startedAtMs: START_MS - 3_600_000 }

  expect(await end({ runs: [[earlier]] })).toEqual({ report: earlier, error: undefined })
})

test('a quick run that followed is not the result', async () => {
  const quick = { ...aRun({ status: 'partial' }), runId: BEFORE + 5, trustedPages: 3 }

  expect(await end({ runs: [[quick, complete]] })).toEqual({ report: complete, error: undefined })
  expect(await end({ runs: [[quick]] })).toMatchObject(lost)
})

test.each([
  ['is still running', [aRun({ status: 'running' })]],
  ['was put back', [aRun({ status: 'interrupted', error: { code: 'interrupted', message: 'stopped' } })]],
  ['began before it was asked for', [{ ...complete, runId: BEFORE }]],
  ['was never made', []],
])('a job that is gone while its run %s is no success', async (_what, runs) => {
  expect(await end({ runs: [runs] })).toMatchObject(lost)
})

test('a run of this process is waited for, although the queue has forgotten its job', async () => {
  const activeHere = [true, true, false, false]
  const running = aRun({ status: 'running' })

  expect(await end({ activeHere, runs: [[complete], [running]] })).toEqual({ report: complete, error: undefined })
  expect(activeHere).toEqual([])
})

test('a job that this process takes while it looks is waited for', async () => {
  const activeHere = [false, true, false, false]
  const running = aRun({ status: 'running' })

  expect(await end({ activeHere, runs: [[running], [complete]] })).toEqual({ report: complete, error: undefined })
})

test.each([
  ['unauthorized', 4],
  ['forbidden', 4],
  ['not-found', 4],
  ['network', 5],
  ['server-error', 5],
  ['rate-limited', 5],
  ['held', 6],
  ['tenant-mixup', 3],
  ['envelope', 3],
  ['config', 2],
  ['mirror-full', 5],
  ['mirror-locked', 5],
  ['mirror-replaced', 5],
  ['mirror-corrupt', 7],
  ['mirror-read-only', 7],
  ['accounting', 1],
])('a run that failed elsewhere with %s ends the command with %d', async (code, exitCode) => {
  const failed = aRun({ status: 'failed', error: { code, message: `made-up words about ${code}` } })
  const { report, error } = await end({ runs: [[failed]] })

  expect(exitCodeOf(error)).toBe(exitCode)
  expect(error).toMatchObject({ message: failed.error?.message })
  expect(report).toEqual(failed)
})

/** What each look at this process and at the mirror finds, in turn. */
function end({ runs, activeHere = [] }: { runs: Report[][]; activeHere?: boolean[] }) {
  const watching: Watching = {
    hasJob: async () => false,
    isActiveHere: () => activeHere.shift() ?? false,
    mirror: { listRuns: async () => runs.shift() ?? [] },
    now: () => START_MS,
    lookMs: 0,
  }
  const request = { organization: 'acme', lastRunBefore: BEFORE }
  return endElsewhere(watching, request, new AbortController().signal)
}

function aRun(settings: Partial<Report>): Report {
  const start = { organization: 'acme', trigger: 'schedule', startedAtMs: START_MS } as const
  return { ...emptyReport(start), runId: BEFORE + 1, pages: 3, ...settings }
}
