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
const RETRY = { kind: 'retry', leastMs: 0 } as const
const GIVE_UP = { kind: 'give-up' } as const

const { ConfigError, UsageError, SourceRefused, RateLimited, SourceUnavailable, ContractBroken } = errors
const { MirrorUnusable, OrganizationLeased, QueueUnavailable, AccountingBroken, Interrupted } = errors

const table: [what: string, error: Error, verdict: JobVerdict][] = [
  ['a secret that cannot be read', new ConfigError([{ file: 'environment X', message: 'is not set' }]), GIVE_UP],
  ['an organization that is gone', new UsageError('gone'), GIVE_UP],
  ['401', new SourceRefused('no', { code: 'unauthorized', status: 401 }), GIVE_UP],
  ['403', new SourceRefused('no', { code: 'forbidden', status: 403 }), GIVE_UP],
  ['404', new SourceRefused('no', { code: 'not-found', status: 404 }), GIVE_UP],
  ['422', new SourceRefused('no', { code: 'unprocessable', status: 422 }), GIVE_UP],
  ['429 with a time', new RateLimited('wait', { waitMs: 90_000 }), { kind: 'wait', waitMs: 90_000 }],
  ['429 without one', new RateLimited('wait', {}), { kind: 'wait', waitMs: 60_000 }],
  ['429 beyond maxWait', new RateLimited('wait', { waitMs: HOUR_MS + 1 }), GIVE_UP],
  ['maxRun reached', new errors.MaxRunReached('long'), { kind: 'wait', waitMs: 1000 }],
  ['no connection', new SourceUnavailable('down', { code: 'network' }), RETRY],
  ['a certificate not trusted', new SourceUnavailable('down', { code: 'tls' }), RETRY],
  ['a timeout', new SourceUnavailable('slow', { code: 'network' }), RETRY],
  ['500', new SourceUnavailable('down', { code: 'server-error', status: 500 }), RETRY],
  [
    '503 with a time',
    new SourceUnavailable('down', { code: 'server-error', status: 503, waitMs: 70_000 }),
    { kind: 'retry', leastMs: 70_000 },
  ],
  ['HTML at 200', new ContractBroken('no', { code: 'bad-answer' }), RETRY],
  ['the customers of another organization', new ContractBroken('no', { code: 'tenant-mixup' }), GIVE_UP],
  ['a mirror that is read-only', new MirrorUnusable('no', { code: 'denied' }), GIVE_UP],
  ['a mirror that is damaged', new MirrorUnusable('no', { code: 'damaged' }), GIVE_UP],
  ['a mirror of another version', new MirrorUnusable('no', { code: 'version' }), { kind: 'hand-back' }],
  ['a disk that is full', new MirrorUnusable('no', { code: 'full' }), { kind: 'retry', leastMs: 20_000 }],
  ['a mirror that is locked', new MirrorUnusable('no', { code: 'busy' }), { kind: 'retry', leastMs: 20_000 }],
  ['a mirror that was replaced', new MirrorUnusable('no', { code: 'replaced' }), { kind: 'retry', leastMs: 20_000 }],
  ['held by a sync', new OrganizationLeased('no'), { kind: 'wait', waitMs: 30_000 }],
  ['no queue', new QueueUnavailable('no'), RETRY],
  ['values that are not hidden yet', new errors.CopyFailed('no', { code: 'unhidden' }), RETRY],
  ['numbers that do not add up', new AccountingBroken('no'), GIVE_UP],
  ['interrupted without a stop of the worker', new Interrupted('stop'), { kind: 'abandon' }],
  ['cancelled by a person', new errors.Cancelled('no'), GIVE_UP],
  ['something unexpected', new TypeError('x is not a function'), RETRY],
]

test.each(table)('%s', (_what, error, verdict) => {
  expect(verdictOf(error, USUAL)).toEqual(verdict)
})

test.each<[string, Error, boolean]>([
  ['429 with a time', new RateLimited('wait', { waitMs: 90_000 }), true],
  ['429 without one', new RateLimited('wait', {}), true],
  ['429 beyond maxWait', new RateLimited('wait', { waitMs: HOUR_MS + 1 }), false],
  ['503 with a time', new SourceUnavailable('down', { code: 'server-error', waitMs: 70_000 }), true],
  ['503 without one', new SourceUnavailable('down', { code: 'server-error' }), false],
  ['a mirror that is locked', new MirrorUnusable('no', { code: 'busy' }), false],
  ['held by a sync', new OrganizationLeased('no'), false],
])('a run ended by %s is called waiting: %#', (_what, error, waits) => {
  expect(isWaiting(error, verdictOf(error, USUAL))).toBe(waits)
})

test.each<[string, Error, JobVerdict]>([
  ['was refused', new SourceRefused('no', { code: 'forbidden', status: 403 }), GIVE_UP],
  ['met a service that is down', new SourceUnavailable('down', { code: 'network' }), GIVE_UP],
  ['met another run', new OrganizationLeased('no'), { kind: 'drop' }],
  ['reached its limit', new errors.MaxRunReached('long'), { kind: 'drop' }],
  ['was cancelled by a person', new errors.Cancelled('no'), { kind: 'drop' }],
])('a quick run that %s is not repeated', (_what, error, verdict) => {
  expect(verdictOf(error, { ...USUAL, kind: 'quick' })).toEqual(verdict)
})

test('every error of the program has its verdict above', () => {
  const kinds = Object.values(errors).filter((exported) => isErrorClass(exported))
  const untold = kinds.filter((kind) => !table.some(([, error]) => error.constructor === kind))

  expect(kinds.length).toBeGreaterThan(9)
  expect(untold).toEqual([])
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

function isErrorClass(exported: unknown): boolean {
  return typeof exported === 'function' && exported.prototype instanceof Error
}
