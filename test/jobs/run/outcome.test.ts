import { expect, test } from 'vitest'
import * as errors from '../../../src/errors/errors.ts'
import { isWaiting, verdictOf, type Circumstances, type JobVerdict } from '../../../jobs/run/verdict.ts'

const HOUR_MS = 3_600_000
const USUAL: Circumstances = {
  kind: 'sync',
  waitedMs: 0,
  maxWaitMs: HOUR_MS,
  startsLeft: 99,
  stopping: false,
  lockLost: false,
  leasedWaitMs: 30_000,
  mirrorWaitMs: 20_000,
}
const retryAfter = (leastMs: number): JobVerdict => ({ kind: 'retry', leastMs })
const GIVE_UP = { kind: 'give-up' } as const

const { SourceRefused, RateLimited, SourceUnavailable, MirrorUnusable, OrganizationLeased, Interrupted } = errors

/** For every code, test/errors.test.ts has what its row says. */
test.each<[what: string, error: Error, verdict: JobVerdict, isWaiting: boolean]>([
  ['403', new SourceRefused('no', { code: 'forbidden', status: 403 }), GIVE_UP, false],
  ['429 with a time', new RateLimited('wait', { waitMs: 90_000 }), { kind: 'wait', waitMs: 90_000 }, true],
  ['429 without one', new RateLimited('wait', {}), { kind: 'wait', waitMs: 60_000 }, true],
  ['429 beyond maxWait', new RateLimited('wait', { waitMs: HOUR_MS + 1 }), GIVE_UP, false],
  [
    '503 with a time',
    new SourceUnavailable('down', { code: 'server-error', waitMs: 70_000 }),
    retryAfter(70_000),
    true,
  ],
  ['503 without one', new SourceUnavailable('down', { code: 'server-error' }), retryAfter(0), false],
  ['maxRun reached', new errors.MaxRunReached('long'), { kind: 'wait', waitMs: 1000 }, false],
  ['a mirror that is locked', new MirrorUnusable('no', { code: 'busy' }), retryAfter(20_000), false],
  ['a mirror of another version', new MirrorUnusable('no', { code: 'version' }), { kind: 'hand-back' }, false],
  ['a run outside the queue', new OrganizationLeased('no'), { kind: 'wait', waitMs: 30_000 }, false],
  ['an interruption without a stop of the worker', new Interrupted('stop'), { kind: 'abandon' }, false],
  ['something unexpected', new TypeError('x is not a function'), retryAfter(0), false],
])('a run ended by %s', (_what, error, verdict, waits) => {
  expect(verdictOf(error, USUAL)).toEqual(verdict)
  expect(isWaiting(error, verdict)).toBe(waits)
})

test.each<[string, Error, JobVerdict]>([
  ['was refused', new SourceRefused('no', { code: 'forbidden', status: 403 }), GIVE_UP],
  ['met a service that is down', new SourceUnavailable('down', { code: 'network' }), GIVE_UP],
  ['met another run', new OrganizationLeased('no'), { kind: 'drop' }],
  ['reached its limit', new errors.MaxRunReached('long'), { kind: 'drop' }],
])('a quick run that %s is not repeated', (_what, error, verdict) => {
  expect(verdictOf(error, { ...USUAL, kind: 'quick' })).toEqual(verdict)
})

const NEWER = new MirrorUnusable('no', { code: 'version' })
const FORBIDDEN = new SourceRefused('no', { code: 'forbidden', status: 403 })
const AT_MOST = { ...USUAL, waitedMs: HOUR_MS - 60_000 }

test.each<[string, Error | undefined, Partial<Circumstances>, JobVerdict['kind']]>([
  ['complete', undefined, {}, 'complete'],
  ['complete, while its worker stops and its lock is lost', undefined, { stopping: true, lockLost: true }, 'complete'],
  ['stopped with its worker', new Interrupted('stop'), { stopping: true }, 'hand-back'],
  ['stopped, and its lock is lost', new Interrupted('stop'), { stopping: true, lockLost: true }, 'abandon'],
  ['refused, and its lock is lost', FORBIDDEN, { stopping: true, lockLost: true }, 'abandon'],
  ['ended by a newer version, and its lock is lost', NEWER, { lockLost: true }, 'abandon'],
  ['to wait as long as it may in total', new RateLimited('wait', { waitMs: 60_000 }), AT_MOST, 'wait'],
  ['to wait longer than it may in total', new RateLimited('wait', { waitMs: 60_001 }), AT_MOST, 'give-up'],
  ['to wait, and was started too often', new RateLimited('wait', { waitMs: 1 }), { startsLeft: 0 }, 'give-up'],
])('the verdict on the job of a run that is %s', (_what, error, circumstances, kind) => {
  expect(verdictOf(error, { ...USUAL, ...circumstances }).kind).toBe(kind)
})
