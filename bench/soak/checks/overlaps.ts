import type { StoredRun } from '../read-mirror.ts'
import type { SeenRequest } from '../service.ts'

/** What the soak did to a life of a worker: when it stood still, and when it ended. */
export type Fate = { name: string; frozenAtMs: readonly number[]; endedAtMs: number | undefined }

/** Runs of one organization that were under way at the same time, by the mirror. */
export function overlappingRuns(runs: readonly StoredRun[]): string[] {
  return [...Map.groupBy(runs, ({ organization }) => organization)].flatMap(([organization, own]) => {
    const inOrder = own.toSorted((a, b) => a.startedMs - b.startedMs || a.id - b.id)
    return inOrder.flatMap((run, index) => {
      const before = inOrder[index - 1]
      return before === undefined || before.finishedMs <= run.startedMs
        ? []
        : [`${organization}: run ${run.id} began before run ${before.id} had ended`]
    })
  })
}

/**
 * Requests that two workers sent during one run, by the service. A worker that stood still before may send what it was about to, a few
 * requests, until it sees that another one has taken over; requests of one that is dead were under way.
 */
export function requestsOfTwo(
  runs: readonly StoredRun[],
  requests: readonly SeenRequest[],
  fates: readonly Fate[],
): string[] {
  const byName = new Map(fates.map((fate) => [fate.name, fate]))
  const byOrganization = Map.groupBy(requests, ({ organization }) => organization)
  return runs.flatMap((run) => {
    const during = (byOrganization.get(run.organization) ?? []).filter(
      ({ atMs }) => run.startedMs <= atMs && atMs <= run.finishedMs,
    )
    const lives = [...Map.groupBy(during, ({ life }) => life)].toSorted((a, b) => b[1].length - a[1].length)
    return lives
      .slice(1)
      .filter(([life, strays]) => !areExcused(strays, byName.get(life)))
      .map(
        ([life, strays]) =>
          `${run.organization}: during run ${run.id} of ${lives[0]?.[0]}, ${life} sent ${strays.length} requests too`,
      )
  })
}

function areExcused(strays: readonly SeenRequest[], fate: Fate | undefined): boolean {
  if (fate === undefined || strays.length > MOST_STRAYS) return false
  return strays.every(
    ({ atMs }) => (fate.endedAtMs ?? Infinity) <= atMs || fate.frozenAtMs.some((frozenMs) => frozenMs <= atMs),
  )
}

/** More than are under way at once, with their retries. */
const MOST_STRAYS = 40
