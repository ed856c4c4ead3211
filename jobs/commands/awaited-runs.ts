import type { Outcome } from '../../src/mirror-organization.ts'
import type { Talk } from '../../src/run-organization.ts'
import type { SourceEvent } from '../../src/source/customers.ts'
import { failedWith } from '../run/failed-with.ts'
import { pausedError } from '../pauses/paused-error.ts'
import type { Listener } from '../run/sync-job.ts'

/** The runs that this process has requested and waits for, and those it makes itself. */
export class AwaitedRuns {
  readonly #awaited = new Map<string, { talk: Talk; end: (outcome: Outcome) => void }>()
  readonly #active = new Set<string>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** Resolves with the outcome of the organization's next run. Forget it afterwards. */
  next(organization: string, talk: Talk): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    this.#awaited.set(organization, { talk, end: resolve })
    return promise
  }

  forget(organization: string): void {
    this.#awaited.delete(organization)
  }

  /** Records that this process took the organization's job. */
  began(organization: string): void {
    this.#active.add(organization)
  }

  isActive(organization: string): boolean {
    return this.#active.has(organization)
  }

  /** Ends the wait for every run, or only for those that this process has not begun. */
  endAll(outcomeOf: (organization: string) => Outcome, { notBegun = false } = {}): void {
    for (const [organization, { end }] of this.#awaited)
      if (!notBegun || !this.isActive(organization)) end(outcomeOf(organization))
  }

  listener(): Listener {
    return {
      onProgress: (progress) => this.#awaited.get(progress.organization)?.talk.onProgress(progress),
      onEvent: (organization, event) => this.#awaited.get(organization)?.talk.onEvent(event),
      onUnknown: (organization) => void this.#active.delete(organization),
      onPutOff: (organization, { untilMs }) => {
        this.#active.delete(organization)
        this.#awaited.get(organization)?.end(failedWith(organization, pausedError(organization, untilMs), this.#now()))
      },
      onRun: ({ organization, outcome, verdict, isLast }) => {
        this.#active.delete(organization)
        const awaited = this.#awaited.get(organization)
        if (isLast || verdict.kind === 'hand-back') awaited?.end(outcome)
        if (verdict.kind === 'wait') awaited?.talk.onEvent(this.#waiting(verdict.waitMs))
      },
    }
  }

  #waiting(waitMs: number): SourceEvent {
    return { kind: 'waiting', reason: 'rate-limited', waitMs, untilMs: this.#now() + waitMs }
  }
}
