import { expect, test } from 'vitest'
import * as errors from '../../src/errors/errors.ts'
import {
  AccountingBroken,
  Cancelled,
  ConfigError,
  ContractBroken,
  Interrupted,
  MaxRunReached,
  MirrorUnusable,
  OrganizationLeased,
  QueueUnavailable,
  RateLimited,
  SourceRefused,
  SourceUnavailable,
  UsageError,
  type ContractCode,
  type RefusalCode,
  type UnavailableCode,
} from '../../src/errors/errors.ts'
import type { WindowFailure } from '../../src/scan/window/window.ts'
import { windowFailureOf } from '../../src/errors/window-failure.ts'

type Verdict = WindowFailure | 'ends the run'

// Each table has an entry for every code there is: the compiler asks for those that are added later.
const CONTRACT: Record<ContractCode, Verdict> = {
  redirect: 'ends the run',
  'not-json': 'ends the run',
  'not-utf8': 'hole',
  'too-large': 'too-large',
  'bad-encoding': 'ends the run',
  envelope: 'ends the run',
  'page-cap': 'ends the run',
  'page-mismatch': 'page-mismatch',
  'size-mismatch': 'page-mismatch',
  'repeated-page': 'repeated-page',
  status: 'ends the run',
  'cached-answer': 'cached-answer',
  'tenant-mixup': 'ends the run',
}
const REFUSED: Record<RefusalCode, Verdict> = {
  unauthorized: 'ends the run',
  forbidden: 'ends the run',
  'not-found': 'ends the run',
  unprocessable: 'size-refused',
}
const UNAVAILABLE: Record<UnavailableCode, Verdict> = {
  network: 'ends the run',
  tls: 'ends the run',
  timeout: 'ends the run',
  'server-error': 'ends the run',
}
const STATUSES: Record<number, Verdict> = { 500: 'hole', 502: 'ends the run', 503: 'ends the run', 504: 'ends the run' }

const CASES: [string, Error, Verdict][] = [
  ...entries(CONTRACT).map(([code, verdict]): [string, Error, Verdict] => {
    return [`ContractBroken ${code}`, new ContractBroken('made up', { code }), verdict]
  }),
  ...entries(REFUSED).map(([code, verdict]): [string, Error, Verdict] => {
    return [`SourceRefused ${code}`, new SourceRefused('made up', { code, status: 400 }), verdict]
  }),
  ...entries(UNAVAILABLE).map(([code, verdict]): [string, Error, Verdict] => {
    return [`SourceUnavailable ${code}`, new SourceUnavailable('made up', { code }), verdict]
  }),
  ...Object.entries(STATUSES).map(([status, verdict]): [string, Error, Verdict] => {
    const details = { code: 'server-error', status: Number(status) } as const
    return [`SourceUnavailable with status ${status}`, new SourceUnavailable('made up', details), verdict]
  }),
  ['RateLimited', new RateLimited('made up', { waitMs: 1000 }), 'ends the run'],
  ['ConfigError', new ConfigError([{ file: 'customer-mirror.yaml', message: 'made up' }]), 'ends the run'],
  ['UsageError', new UsageError('made up'), 'ends the run'],
  ['MirrorUnusable', new MirrorUnusable('made up', { code: 'full' }), 'ends the run'],
  ['OrganizationLeased', new OrganizationLeased('made up', { code: 'lease-lost' }), 'ends the run'],
  ['QueueUnavailable', new QueueUnavailable('made up'), 'ends the run'],
  ['ExportFailed', new errors.ExportFailed('made up', { code: 'export-full' }), 'ends the run'],
  ['BackupFailed', new errors.BackupFailed('made up', { code: 'backup-full' }), 'ends the run'],
  ['CopyFailed', new errors.CopyFailed('made up', { code: 'copy-full' }), 'ends the run'],
  ['AccountingBroken', new AccountingBroken('made up'), 'ends the run'],
  ['Interrupted', new Interrupted('made up'), 'ends the run'],
  ['Cancelled', new Cancelled('made up'), 'ends the run'],
  ['WindowClosed', new errors.WindowClosed('made up'), 'ends the run'],
  ['OrganizationPaused', new errors.OrganizationPaused('made up'), 'ends the run'],
  ['MaxRunReached', new MaxRunReached('made up'), 'ends the run'],
  ['an unexpected error', new TypeError('made up'), 'ends the run'],
]

test.each(CASES)('%s', (_, error, verdict) => {
  expect(windowFailureOf(error)).toBe(verdict === 'ends the run' ? undefined : verdict)
})

test('a thrown value that is not an error ends the run', () => {
  for (const thrown of [undefined, null, 'a text', { code: 'not-utf8', status: 500 }]) {
    expect(windowFailureOf(thrown)).toBeUndefined()
  }
})

test('the table knows every error there is', () => {
  const names = Object.values(errors).flatMap((exported) => (isErrorClass(exported) ? [exported.name] : []))
  const tested = new Set(CASES.map(([, error]) => error.name))

  expect(names.length).toBeGreaterThan(8)
  expect(names.filter((name) => !tested.has(name))).toEqual([])
})

function isErrorClass(exported: unknown): exported is new () => Error {
  return typeof exported === 'function' && exported.prototype instanceof Error
}

function entries<Key extends string>(table: Record<Key, Verdict>): [Key, Verdict][] {
  const pairs: [Key, Verdict][] = []
  for (const key in table) pairs.push([key, table[key]])
  return pairs
}
