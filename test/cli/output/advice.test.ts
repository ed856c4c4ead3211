import { expect, test } from 'vitest'
import { whatToDo } from '../../../src/cli/output/advice.ts'
import { sqlText } from '../../../src/cli/output/print.ts'
import { describeError, MaxRunReached, MirrorUnusable } from '../../../src/errors/errors.ts'
import { emptyReport, type Report } from '../../../src/model/report.ts'

const OLD_ROWS = { changes: 0, resolvedRejects: 0, runs: 0, removedCustomers: 0, isUnfinished: false }

test.each<[what: string, error: Error | undefined, changes: Partial<Report>, said: RegExp]>([
  [
    'it reached maxRun',
    new MaxRunReached('acme: the run was ended after 6h.'),
    { status: 'interrupted' },
    /^\n■ acme: reached six hours\n {2}the run was ended after 6h\.\n {2}fix: .*\n {2}customer-mirror runs show 7 --config 'it'\\''s here\.yaml'\n$/,
  ],
  [
    'its mirror was replaced, which does not have it',
    new MirrorUnusable('/data/customers.db: was replaced', { code: 'replaced' }),
    { status: 'failed' },
    /^\n✖ acme: [^]*fix: (?![^]*runs show)/,
  ],
  [
    'old rows were not deleted',
    undefined,
    { status: 'complete', pruned: { ...OLD_ROWS, error: { code: 'full', message: 'The disk is full.' } } },
    /^! acme: old rows were not deleted, and the next run tries again\. The disk is full\.\n$/,
  ],
])('of a run it is said that %s', (_, error, changes, said) => {
  const empty = emptyReport({ organization: 'acme', trigger: 'sync', startedAtMs: 0 })
  const report = { ...empty, runId: 7, error: error && describeError(error), ...changes }

  expect(whatToDo({ outcomes: [{ report, error }], held: [] }, { config: "it's here.yaml" })).toMatch(said)
})

test('a failed look-up of held removals is reported, and one removal is singular', () => {
  const asked = (held: { runId: number; organization: string; held: number; startedAtMs: number }[] | undefined) =>
    whatToDo({ outcomes: [], held }, { config: 'other.yaml' })

  expect(asked([])).toBe('')
  expect(asked(undefined)).toContain('Could not look up whether removals are held back')
  const text = asked([{ runId: 7, organization: 'acme', held: 1, startedAtMs: 0 }])
  expect(text).toContain('acme: 1 removal is held back by run 7')
  expect(text).toContain('  customer-mirror removals show acme --config other.yaml\n')
})

test('in a statement that is shown to be copied, a value is one text', () => {
  expect(sqlText("'; DROP TABLE customers; --")).toBe("'''; DROP TABLE customers; --'")
})
