import { expect, test } from 'vitest'
import { foundText, whatToDo } from '../../../src/cli/output/advice.ts'
import { sqlText } from '../../../src/cli/output/say.ts'
import { describeError, Interrupted, MaxRunReached, MirrorUnusable } from '../../../src/errors/errors.ts'
import { emptyReport, type Pruned, type Report } from '../../../src/model/report.ts'

function aReport(changes: Partial<Report>): Report {
  return { ...emptyReport({ organization: 'acme', trigger: 'sync', startedAtMs: 0 }), runId: 7, ...changes }
}

function adviceOn(error: Error, changes: Partial<Report>, config?: string): string {
  const report = aReport({ received: 200, error: describeError(error), ...changes })
  return whatToDo({ outcomes: [{ report, error }], held: [] }, { config })
}

test.each([
  [
    'that reached maxRun',
    new MaxRunReached('acme: the run was ended after 6h.'),
    '■ acme: reached six hours\n  the run',
  ],
  ['that was stopped', new Interrupted('acme: stopped as asked.'), '■ acme: stopped\n  stopped as asked.\n'],
])('a run %s says so, and how it can be looked at', (_, error, start) => {
  const text = adviceOn(error, { status: 'interrupted' }, "it's here.yaml")

  expect(text).toContain(start)
  expect(text).toContain(String.raw`  customer-mirror runs show 7 --config 'it'\''s here.yaml'`)
})

test('no command refers to a run whose mirror was replaced', () => {
  const error = new MirrorUnusable('/data/customers.db: was replaced', { code: 'replaced' })

  expect(adviceOn(error, { status: 'failed' })).toMatch(/^\n✖ acme: [^]*fix: (?![^]*runs show)/)
})

test('a failed look-up of held removals is reported, and one removal is singular', () => {
  const asked = (held: { runId: number; organization: string; held: number; startedAtMs: number }[] | undefined) =>
    whatToDo({ outcomes: [], held }, { config: 'other.yaml' })

  expect(asked([])).toBe('')
  expect(asked(undefined)).toContain('Could not look up whether removals are held back')
  const text = asked([{ runId: 7, organization: 'acme', held: 1, startedAtMs: 0 }])
  expect(text).toContain('acme: 1 removal is held back by run 7')
  for (const command of ['runs show 7', 'removals show acme', 'removals approve acme', 'removals discard acme'])
    expect(text).toContain(`  customer-mirror ${command} --config other.yaml\n`)
})

const KEPT = { changes: 0, resolvedRejects: 0, runs: 0, removedCustomers: 0, isUnfinished: false, error: undefined }

test.each<[Partial<Pruned>, string, string]>([
  [{ changes: 2500, runs: 1, isUnfinished: true }, ': 2,500 changes, 1 runs; the next run continues\n', ''],
  [{ error: { code: 'full', message: 'The disk is full.' } }, '', 'the next run tries again. The disk is full.\n'],
])('what retention did is said in words (%j)', (changes, done, failed) => {
  const report = aReport({ status: 'complete', pruned: { ...KEPT, ...changes } })
  const advice = whatToDo({ outcomes: [{ report, error: undefined }], held: [] }, {})

  expect(foundText([report]).endsWith(done)).toBe(true)
  expect(advice.endsWith(failed)).toBe(true)
  expect([foundText([report]) === '', advice === '']).toEqual([done === '', failed === ''])
})

test.each([
  ["o'hara", "'o''hara'"],
  ["'; DROP TABLE customers; --", "'''; DROP TABLE customers; --'"],
])('in a statement that is shown to be copied, %j is one text', (text, inStatement) => {
  expect(sqlText(text)).toBe(inStatement)
})
