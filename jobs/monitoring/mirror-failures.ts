import { describeError, factsOf } from '../../src/errors/errors.ts'
import { listedNames } from '../../src/listed-names.ts'
import type { LastRun } from '../../src/store.ts'
import { isoTime } from '../../src/time/iso-time.ts'
import { within } from '../queue/deadline.ts'
import type { RunOfJob } from '../run/sync-job.ts'

/** When a run failed by the mirror, in Unix milliseconds, with which error code, and whether its job makes no other attempt. */
export type MirrorFailure = { atMs: number; code: string; isLast: boolean }

type Ended = Pick<RunOfJob, 'organization' | 'isLast'> & { outcome: { error: unknown } }

/** The least time from one look at the mirror to the next, and for how long an answer waits for one. */
const LOOK_AGAIN_MS = 60_000
const LOOK_MS = 2000

/**
 * The organizations whose last full run in this worker failed by the mirror: it was locked for long, its disk was full or read-only. Such a
 * run may have left nothing in the mirror by which it could be found there.
 */
export class MirrorFailures {
  readonly byOrganization = new Map<string, MirrorFailure>()
  readonly #now: () => number
  #looking: Promise<void> | undefined
  #lookedAtMs = -Infinity

  constructor(now: () => number) {
    this.#now = now
  }

  /** To be called at the end of each full run. */
  note({ organization, isLast, outcome: { error } }: Ended): void {
    if (error === undefined || factsOf(error).from !== 'mirror') this.byOrganization.delete(organization)
    else this.byOrganization.set(organization, { atMs: this.#now(), code: describeError(error).code, isLast })
  }

  /**
   * Forgets failures that are over, as `isUsableAgain` says of their error code. Only those are asked about whose job makes no other attempt:
   * the next run may be a day away. One look at a time, at most one a minute, and an answer does not wait for long.
   */
  async lookAgain(isUsableAgain: (errorCode: string) => Promise<boolean>, monotonicMs: number): Promise<void> {
    const ended = [...this.byOrganization].filter(([, { isLast }]) => isLast)
    if (ended.length === 0) return
    if (this.#looking === undefined) {
      if (monotonicMs - this.#lookedAtMs < LOOK_AGAIN_MS) return
      this.#lookedAtMs = monotonicMs
      this.#looking = this.#forgetOver(ended, isUsableAgain).finally(() => (this.#looking = undefined))
    }
    await within(this.#looking, LOOK_MS, undefined)
  }

  async #forgetOver(
    ended: readonly [organization: string, failure: MirrorFailure][],
    isUsableAgain: (errorCode: string) => Promise<boolean>,
  ): Promise<void> {
    for (const code of new Set(ended.map(([, failure]) => failure.code))) {
      if (!(await isUsableAgain(code))) continue
      for (const [organization, failure] of ended)
        // A run may have failed meanwhile.
        if (failure.code === code && this.byOrganization.get(organization) === failure)
          this.byOrganization.delete(organization)
    }
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
