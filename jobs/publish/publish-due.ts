import type { Timings } from '../timings.ts'

/** What a worker knows of its runs and its copies. Times are milliseconds of a monotonic clock. */
export type PublishState = {
  /** Organizations whose runs are under way. */
  running: Set<string>
  /** When the first change was made that is in no copy; undefined if there is none. */
  changedAtMs: number | undefined
  /** When the last run ended; undefined before the first. */
  endedAtMs: number | undefined
  /** When the last attempt to publish ended; undefined before the first. */
  publishedAtMs: number | undefined
}

type Limits = Pick<Timings, 'publishQuietMs' | 'publishLatestMs' | 'publishRestMs'>

/**
 * Whether a copy is to be made now: something changed, the last attempt is long enough ago, and either the runs of a night are
 * over, which is when none was under way for a while, or they go on for too long to wait for that.
 */
export function isDue(
  { running, changedAtMs, endedAtMs, publishedAtMs }: Readonly<PublishState>,
  nowMs: number,
  { publishQuietMs, publishLatestMs, publishRestMs }: Limits,
): boolean {
  if (changedAtMs === undefined) return false
  if (publishedAtMs !== undefined && nowMs - publishedAtMs < publishRestMs) return false
  if (nowMs - changedAtMs >= publishLatestMs) return true
  return running.size === 0 && nowMs - (endedAtMs ?? changedAtMs) >= publishQuietMs
}
