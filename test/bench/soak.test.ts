import { expect, test } from 'vitest'
import * as soak from '../../bench/soak/checks.ts'
import type { StoredCustomer, StoredRun } from '../../bench/soak/stored.ts'
import { generateCustomers } from '../../src/service/customers.ts'

const [FIRST, SECOND, GONE] = generateCustomers({ seed: 'compared', count: 3 })
if (FIRST === undefined || SECOND === undefined || GONE === undefined) throw new Error('No customers were made')

const row = (customer: typeof FIRST, changes: Record<string, string | null> = {}): StoredCustomer => ({
  ...{ ...customer, organization: 'acme', missing_since: null, removed_at: null },
  ...changes,
})
const REMOVAL = { organization: 'acme', id: GONE.id, missingMs: 40, atMs: 50 }
const RIGHT: soak.Compared = {
  organization: 'acme',
  listed: [FIRST, SECOND],
  stays: new Map([
    [FIRST.id, [{ fromMs: 0, toMs: Infinity }]],
    [SECOND.id, [{ fromMs: 0, toMs: Infinity }]],
    [GONE.id, [{ fromMs: 0, toMs: 30 }]],
  ]),
  stored: [row(FIRST), row(SECOND), row(GONE, { removed_at: '2026-01-01' })],
  removals: [REMOVAL],
}
const compared = (changes: Partial<soak.Compared>) => soak.compareCustomers({ ...RIGHT, ...changes })
const withFirst = (changes: Record<string, string | null>) =>
  compared({ stored: [row(FIRST, changes), ...RIGHT.stored.slice(1)] })

const aRun = (id: number, startedMs: number, finishedMs: number, changes: Partial<StoredRun> = {}): StoredRun => ({
  ...{ id, organization: 'acme', trigger: 'schedule', startedMs, finishedMs, asOfMs: startedMs },
  ...{ status: 'complete', proof: 'proven', certificate: '{}', error_code: null, error: null },
  ...{ held: 0, unaccounted: 0, isPartial: false, ...changes },
})
const ended = (changes: Partial<StoredRun>) => soak.badlyEnded([aRun(1, 0, 1), aRun(2, 2, 3, changes)])
const asked = (life: string, ...times: number[]) => times.map((atMs) => ({ organization: 'acme', life, atMs }))
const fate = (name: string, frozenAtMs: number[] = [], endedAtMs?: number) => ({ name, frozenAtMs, endedAtMs })
const GIVEN_UP = aRun(1, 10, 20, {
  ...{ status: 'interrupted', error_code: 'interrupted' },
  error: 'The process ended before the run did. What it had saved is kept.',
})
const struckAt = (atMs: number) =>
  soak.abandonedForNothing([GIVEN_UP, aRun(2, 30, 40)], asked('a', 12), [fate('a', [], atMs), fate('b', [], 15)])
const DUE = { organization: 'acme', dueMs: [10, 20], startsMs: [25] }
const ALLOWED = { wellFor: (fromMs: number, toMs: number) => toMs - fromMs, allowedMs: 15, endMs: 100 }
const READ = { organization: 'acme', dueMs: [10, 20, 30] }
const report = (id: string, dueAt: string) => ({ id, body: JSON.stringify({ data: { dueAt, organizations: [] } }) })
const LIFE = {
  ...{ name: 'worker-1.1', startedAtMs: 10, endedAtMs: 50, endsAs: 'stopped' as const, wouldNotStop: false },
  ...{ hasStarted: true, exitCode: 143 },
}
const SECRETS = 'soak_key_acme~1 soak_secret_acme\n    at run (file:///a.ts:1:2)\n{"msg":"run failed unexpectedly"}'
const logged = (text: string) => ({ place: 'a log', text })

test.each<[what: string, found: string[], expected: string | RegExp]>([
  ['a lost customer', compared({ stored: RIGHT.stored.slice(1) }), `customer ${FIRST.id} is listed and not in the`],
  ['a removed customer that is listed', withFirst({ removed_at: '2026-01-01' }), 'is listed and removed in the mirror'],
  ['a missing customer that is listed', withFirst({ missing_since: '2026-01-01' }), 'is listed and missing in the'],
  ['an old field', withFirst({ phone: 'before' }), `customer ${FIRST.id} has another phone in the mirror`],
  ['who left', compared({ stored: [row(FIRST), row(SECOND), row(GONE)] }), 'has left and is active in the mirror'],
  ['a customer of another organization', compared({ stays: new Map() }), `customer ${GONE.id} was never listed`],
  ['a removal without reason', compared({ removals: [{ ...REMOVAL, id: FIRST.id }] }), /removed at .* although it was/],
  ['runs that overlap', soak.overlappingRuns([aRun(1, 10, 20), aRun(2, 19, 30)]), 'run 2 began before run 1 had ended'],
  [
    'requests of two workers at a time',
    soak.requestsOfTwo([aRun(1, 10, 20)], [...asked('a', 11, 12), ...asked('b', 12)], [fate('a'), fate('b')]),
    'during run 1 of a, b sent 1 requests too',
  ],
  [
    'a run that was given up for nothing',
    [...struckAt(25), ...struckAt(35)],
    /^acme: run 1 was given up although no worker had ended or stood still$/,
  ],
  ['a run that came too late', soak.missedDueTimes(DUE, { ...ALLOWED, allowedMs: 14 }), 'the next run began'],
  ['no run', soak.missedDueTimes({ ...DUE, startsMs: [5, 12] }, ALLOWED), /was due at .*, and no run followed/],
  ['a list that was read twice', soak.repeatedDueTimes({ ...READ, asOfMs: [10, 19, 31] }), /was read 2 times/],
  ['a run without an end', ended({ status: 'running', finishedMs: Number.NaN }), 'run 2 never ended'],
  ['a run without a certificate', ended({ certificate: null }), 'run 2 is complete and has no certificate'],
  ['records without account', ended({ unaccounted: 2 }), 'run 2 does not account for 2 records'],
  ['removals that were held', ended({ held: 3 }), 'run 2 held back 3 removals'],
  ['a defect', ended({ status: 'failed', error_code: 'unexpected', error: 'boom' }), 'run 2 ended with unexpected'],
  ['two reports of a night', soak.reportsOfNights([report('b', 'two'), report('c', 'two')], 0), 'reported under 2 ids'],
  ['no report', soak.reportsOfNights([], 3), 'no night was reported'],
  ['a worker that ended by itself', soak.oddEnds([{ ...LIFE, endsAs: undefined, exitCode: 1 }], []), 'ended by itself'],
  ['a customer in a log', soak.personalData([logged(`{"oops":"${FIRST.email}"}`)]), /./],
  ['a secret in a log', soak.personalData([logged(SECRETS)]), 'a log holds a secret'],
  ['a stack trace', soak.alarms(logged(SECRETS)), /./],
])('%s is found', (_, found, expected) => {
  expect(found.join('\n')).toMatch(expected)
})
