import type { Organization } from '../../config/organization.ts'
import { isForGood } from '../../errors/error-facts.ts'
import { pauseOf, type Pause, type Pauses } from '../../pause.ts'
import type { Freshness } from '../../store.ts'
import { FUTURE_DATE, isInFuture } from '../output/future-date.ts'

/** How current an organization is. */
export type StatusLine = {
  organization: string
  freshness: Freshness | undefined
  readAgeMs: number | undefined
  provenAgeMs: number | undefined
  tooOld: boolean
  why: string[]
  /** Undefined where it is not paused, or where that is not known. */
  paused: Pause | undefined
}

/** How old an organization may be, and by which of its dates: the last reading, or the last proof. */
export type AgeLimit = { maxAgeMs: number | undefined; proven: true | undefined }

/** One line for every configured organization. One that was never mirrored counts as too old. */
export function statusLines(
  organizations: readonly Organization[],
  { freshness: known, pauses }: { freshness: readonly Freshness[]; pauses: Pauses | undefined },
  nowMs: number,
  { maxAgeMs, proven }: AgeLimit,
): StatusLine[] {
  return organizations.map(({ id }) => {
    const freshness = known.find(({ organization }) => organization === id)
    const ageOf = (asOfMs: number | undefined) => (asOfMs === undefined ? undefined : nowMs - asOfMs)
    const readAgeMs = ageOf(freshness?.readAsOfMs)
    const provenAgeMs = ageOf(freshness?.provenAsOfMs)
    const loadingMs = ageOf(firstLoadSinceMs(freshness))
    const readTooOld = isTooOld(readAgeMs ?? loadingMs, maxAgeMs)
    const tooOld = proven ? isTooOld(provenAgeMs ?? loadingMs, maxAgeMs) : readTooOld
    const paused = pauses && pauseOf(pauses, id, nowMs)
    const isStale = readTooOld && !isInFuture(readAgeMs)
    const isAhead = isInFuture(readAgeMs) || isInFuture(provenAgeMs)
    const why = [...(paused ? ['paused'] : []), ...whyNot(freshness, { tooOld, isStale, isAhead })]
    return { paused, organization: id, freshness, readAgeMs, provenAgeMs, tooOld, why }
  })
}

/**
 * A list that was never read to its end is as old as its first run, between the attempts too, unless the last one failed for good. A quick run
 * alone begins none.
 */
function firstLoadSinceMs(freshness: Freshness | undefined): number | undefined {
  const { readAsOfMs, lastFullStatus, firstRunAtMs, why = [] } = freshness ?? {}
  const isUnderWay = readAsOfMs === undefined && lastFullStatus !== undefined && !why.some(isForGood)
  return isUnderWay ? firstRunAtMs : undefined
}

/** A date far in the future comes from a wrong clock, so it counts as too old. */
function isTooOld(ageMs: number | undefined, maxAgeMs: number | undefined): boolean {
  if (maxAgeMs === undefined) return false
  return ageMs === undefined || ageMs > maxAgeMs || isInFuture(ageMs)
}

/** Why an organization is not proven, not fresh, or waits for a decision: short codes. */
function whyNot(
  freshness: Freshness | undefined,
  { tooOld, isStale, isAhead }: Record<'tooOld' | 'isStale' | 'isAhead', boolean>,
) {
  if (freshness === undefined) return ['never-mirrored']
  const { why, held, lastFullStatus, readAsOfMs } = freshness
  // It is configured again, and its next run ends that.
  if (freshness.retiredAtMs !== undefined) return ['retired']
  if (lastFullStatus === undefined) return ['never-mirrored']
  const isRunning = lastFullStatus === 'running' && (tooOld || readAsOfMs === undefined)
  const isForgotten = isStale && lastFullStatus === 'complete' && !why.includes('page-limit')
  return [
    ...(isRunning ? ['running'] : []),
    ...(isAhead ? [FUTURE_DATE] : []),
    ...(isForgotten ? ['no-run-since'] : []),
    ...why,
    ...(held > 0 ? [`held ${held}`] : []),
  ]
}

/** Organizations that are no longer mirrored, and whose customers are active all the same. */
export function leftBehind(organizations: readonly Organization[], known: readonly Freshness[]): Freshness[] {
  const configured = new Set(organizations.map(({ id }) => id))
  return known.filter(({ organization, active }) => active > 0 && !configured.has(organization))
}
