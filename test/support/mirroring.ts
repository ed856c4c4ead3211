import type { Mirror } from '../../src/model/mirror.ts'
import type { Mirroring } from '../../src/sync/mirror-organization.ts'
import { MINUTE_MS, START_MS } from './builders.ts'
import type { PageSource } from './listed-source.ts'
import { rowsOf } from './mirror-file.ts'

/** The settings of a run of acme: a plain scan, pages of ten, four at once, with a clock that does not move. */
export function mirroring(mirror: Mirror, source: PageSource, overrides: Partial<Mirroring> = {}): Mirroring {
  return {
    organization: 'acme',
    source,
    mirror,
    trigger: 'sync',
    scan: 'plain',
    pageSize: 10,
    resumeWithinMs: 6 * 60 * MINUTE_MS,
    removals: { after: 2, maxShare: 0.1 },
    concurrency: 4,
    now: () => START_MS,
    monotonicMs: overrides.now ?? (() => START_MS),
    random: () => 0,
    signal: new AbortController().signal,
    ...overrides,
  }
}

/** A clock that advances a second at every reading, so that every page is saved alone. */
export function movingClock(): () => number {
  let nowMs = START_MS
  return () => (nowMs += 1000)
}

/** The names of all customers in the mirror, by id. */
export function storedNames(mirror: Mirror): unknown[] {
  return rowsOf(mirror.file, 'SELECT name FROM customers ORDER BY id').map(({ name }) => name)
}

export function namesOf(list: readonly Record<string, unknown>[]): unknown[] {
  return list.map(({ name }) => name)
}
