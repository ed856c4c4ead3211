import { describeError, factsOf } from '../../src/errors/errors.ts'
import { listedNames } from '../../src/listed-names.ts'
import type { LastRun } from '../../src/store.ts'
import { isoTime } from '../../src/time/iso-time.ts'
import type { RunOfJob } from '../run/sync-job.ts'

/** When a run failed by the mirror, in Unix milliseconds, and with which error code. */
export type MirrorFailure = { atMs: number; code: string }

type Ended = Pick<RunOfJob, 'organization'> & { outcome: { error: unknown } }

/**
 * The organizations whose last full run in this worker failed by the mirror: it was locked for long, its disk was full or read-only. Such a
 * run may have left nothing in the mirror by which it could be found there. A failure is over with the next full run that can use the mirror.
 */
export class MirrorFailures {
  readonly byOrganization = new Map<string, MirrorFailure>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** To be called at the end of each full run. */
  note({ organization, outcome: { error } }: Ended): void {
    if (error === undefined || factsOf(error).from !== 'mirror') this.byOrganization.delete(organization)
    else this.byOrganization.set(organization, { atMs: this.#now(), code: describeError(error).code })
  }
}

/**
 * The failures of these organizations in sentences, one for each error code. One of an organization that was read since, as by another
 * worker, is over.
 */
export function mirrorProblems(
  failures: ReadonlyMap<string, MirrorFailure>,
  organizations: readonly { id: string }[],
  lastRuns: readonly Pick<LastRun, 'organization' | 'completeAsOfMs'>[],
): string[] {
  const readAsOfMs = new Map(lastRuns.map((run) => [run.organization, run.completeAsOfMs ?? 0]))
  const open = organizations.flatMap(({ id: organization }) => {
    const failure = failures.get(organization)
    const isOpen = failure !== undefined && (readAsOfMs.get(organization) ?? 0) <= failure.atMs
    return isOpen ? [{ organization, ...failure }] : []
  })
  return [...Map.groupBy(open, ({ code }) => code)].map(([code, failed]) => {
    const lastMs = Math.max(...failed.map(({ atMs }) => atMs))
    const names = listedNames(failed.map(({ organization }) => organization))
    return `the mirror could not be used (${code}), last at ${isoTime(lastMs)}, by runs of ${names}: see the log of the worker`
  })
}
