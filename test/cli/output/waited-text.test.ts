import { expect, test } from 'vitest'
import type { WaitedOutcome } from '../../../jobs/commands/run-and-wait.ts'
import { waitedText } from '../../../src/cli/run.ts'
import { emptyReport, type Report } from '../../../src/model/report.ts'

test('a run whose mirror is here is a row of the table, and the mirror is named', () => {
  const text = textOf({ from: 'mirror', report: { status: 'complete', proof: 'proven', received: 7 } })

  expect(text).toMatch(/^acme +complete +7 .* proven$/m)
  expect(text).toContain('Mirror: /data/customers.db\n')
})

test('a run whose mirror is on another machine is shown by its numbers, without a proof', () => {
  const text = textOf({ from: 'queue', report: { status: 'complete', received: 7, inserted: 7, requests: 1 } })

  expect(text).toBe(
    'acme: complete: 7 customers: 7 new, 0 changed, 0 rejected, 0 removed, 0 held · 1 request in 0 ms. ' +
      'Its mirror is not on this machine: look there for its proof.\n',
  )
})

test.each([
  ['none-needed', 'its list had been read since it was due'],
  ['no-quick-run', 'a full run is under way'],
] as const)('no run is said to be none: %s', (from, words) => {
  expect(textOf({ from })).toMatch(new RegExp(`^acme: no .*${words}.*\n$|^acme: ${words}.*\n$`))
})

test('a failure that only the queue knows is a row of the table, and names no mirror', () => {
  const error = { code: 'network', message: 'acme: unreachable' }
  const text = textOf({ from: 'queue', report: { error }, failure: new Error('unreachable') })

  expect(text).toMatch(/^acme +failed: network /m)
  expect(text).not.toContain('Mirror:')
})

function textOf({
  from,
  report = {},
  failure,
}: {
  from: WaitedOutcome['from']
  report?: Partial<Report>
  failure?: Error
}): string {
  const empty = emptyReport({ organization: 'acme', trigger: 'manual', startedAtMs: 0 })
  const waited: WaitedOutcome = { from, outcome: { report: { ...empty, ...report }, error: failure } }
  return waitedText([waited], { mirrorFile: '/data/customers.db', screen: undefined })
}
