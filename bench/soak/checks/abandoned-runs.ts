import type { StoredRun } from '../read-mirror.ts'
import type { SeenRequest } from '../service.ts'
import type { Fate } from './overlaps.ts'

/**
 * Runs that were given up although no worker that may have made them ended or stood still meanwhile: a second one was started beside
 * the first, and closed it.
 */
export function abandonedForNothing(
  runs: readonly StoredRun[],
  requests: readonly SeenRequest[],
  fates: readonly Fate[],
): string[] {
  return runs
    .filter(({ error }) => error?.startsWith(GIVEN_UP) === true)
    .filter((run) => !makersOf(run, requests, fates).some((fate) => struckDuring(fate, run)))
    .map(
      ({ organization, id }) => `${organization}: run ${id} was given up although no worker had ended or stood still`,
    )
}

/** How the mirror describes a run that never ended by itself. */
const GIVEN_UP = 'The process ended before the run did.'

/** The workers that sent requests during the run; all of them where the service saw none. */
function makersOf(
  { organization, startedMs, finishedMs }: StoredRun,
  requests: readonly SeenRequest[],
  fates: readonly Fate[],
): readonly Fate[] {
  const during = requests.filter(
    (seen) => seen.organization === organization && startedMs <= seen.atMs && seen.atMs <= finishedMs,
  )
  const names = new Set(during.map(({ life }) => life))
  return names.size === 0 ? fates : fates.filter(({ name }) => names.has(name))
}

function struckDuring({ frozenAtMs, endedAtMs }: Fate, { startedMs, finishedMs }: StoredRun): boolean {
  const struckMs = endedAtMs === undefined ? frozenAtMs : [...frozenAtMs, endedAtMs]
  return struckMs.some((atMs) => startedMs <= atMs && atMs <= finishedMs)
}
