import type { WindowFailure } from './window-failure.ts'

/** How the program handles an error. */
export type ErrorFacts = {
  /**
   * The retry of the run. `wait`: later, without using an attempt. `retry`: until its attempts are used up. `never`: it would
   * end the same way until a person acts.
   */
  readonly again: Again
  /** The retry of the failed request, within its run. */
  readonly askAgain: Again
  /** The exit code of a command; `cli/exit-code.ts` explains the numbers. */
  readonly exitCode: 1 | 2 | 3 | 4 | 5 | 6 | 7
  /** Whether the windows that the run read stay valid, so that the next run continues from them. */
  readonly resumable: boolean
  /** What the error means for the one requested window; undefined when it concerns the whole run. */
  readonly window: WindowFailure | undefined
  readonly from: Origin
  /** Its name, in a few words. */
  readonly title: string
  /** What to do about it; `<organization>` is replaced by its id. */
  readonly fix: string
}

type Again = 'wait' | 'retry' | 'never'

/**
 * Where an error comes from. On the service's side: `answer` (it refuses, or cannot be trusted) and `outage` (no answer for now).
 * On our side: `mirror` (the file or its disk), `other-version` of this program (the mirror is of it), `queue`, `other-run` of the
 * same organization, a requested `stop` of the program, a `cancel` of this run by a person, a `limit` of the configuration, the
 * `configuration` itself (a mistake in it, or a secret that it names and that is not there), and `ours` (the command line or this program).
 */
export type Origin =
  | 'answer'
  | 'outage'
  | 'mirror'
  | 'other-version'
  | 'queue'
  | 'other-run'
  | 'stop'
  | 'cancel'
  | 'limit'
  | 'configuration'
  | 'ours'

/** An error on our side without a retry; the rows of `error-facts.ts` contain the differences. */
export const OURS: ErrorFacts = {
  again: 'never',
  askAgain: 'never',
  exitCode: 1,
  resumable: false,
  window: undefined,
  from: 'ours',
  title: 'unexpected',
  fix: 'Please report it.',
}

/** The runs of a worker look for a secret again, which asks the service nothing. */
export const CONFIGURATION: ErrorFacts = { ...OURS, exitCode: 2, resumable: true, from: 'configuration' }

export const ACCOUNTING: ErrorFacts = {
  ...OURS,
  title: 'the numbers do not add up',
  fix: 'Correct what is named above. If nothing is named there, please report it.',
}

export const REFUSED: ErrorFacts = { ...OURS, exitCode: 4, resumable: true, from: 'answer' }

export const OUTAGE: ErrorFacts = {
  ...OURS,
  again: 'retry',
  askAgain: 'retry',
  exitCode: 5,
  resumable: true,
  from: 'outage',
}

/** An invalid answer, such as a page of a proxy or half an answer: often gone a minute later, so it is retried. */
export const BREACH: ErrorFacts = {
  ...OURS,
  again: 'retry',
  exitCode: 3,
  from: 'answer',
  title: 'not the documented answer',
  fix: 'Check that baseUrl is the final address of the interface itself: https, the right host, ending in /api/v1.',
}

export const MIRROR: ErrorFacts = {
  ...OURS,
  exitCode: 7,
  from: 'mirror',
  title: 'mirror',
  fix: 'Repair what is named above, or name another mirror in the configuration.',
}

/** Another version made the mirror, or has changed it meanwhile: this one cannot use it. */
export const MIRROR_VERSION: ErrorFacts = {
  ...MIRROR,
  from: 'other-version',
  fix: 'Use the version that made the mirror, or name another mirror in the configuration and sync anew.',
}

/** Another page, or other rows, than requested: most often a cache or proxy answers in place of the service. */
export const OTHER_PAGE = {
  ...BREACH,
  resumable: true,
  title: 'not the page asked for',
  fix: 'Look for a cache or a proxy that answers in place of the service, then sync again.',
} as const

/** A temporary problem: it ends when another program closes the file, space is freed, the file is opened again, or its server answers. */
export const MIRROR_FOR_NOW: ErrorFacts = { ...MIRROR, again: 'retry', exitCode: 5 }

/** The server of the mirror does not answer. */
export const SERVER_GONE: ErrorFacts = {
  ...MIRROR_FOR_NOW,
  again: 'wait',
  resumable: true,
  fix: 'Start the server named above, or repair the way to it, then try again.',
}

export const OTHER_RUN: ErrorFacts = {
  ...OURS,
  again: 'wait',
  exitCode: 6,
  from: 'other-run',
  title: 'busy',
  fix: 'Wait for the other run to end.',
}

/** The copy for readers was not made. What was published before is unchanged. */
export const COPY: ErrorFacts = {
  ...OURS,
  exitCode: 2,
  title: 'not published',
  fix: 'Correct what is named above, then publish again.',
}

/** The same for something that ends by itself. */
export const COPY_FOR_NOW: ErrorFacts = { ...COPY, again: 'retry', exitCode: 5 }

/** The export was not written. */
export const EXPORT: ErrorFacts = {
  ...COPY,
  title: 'not exported',
  fix: 'Correct what is named above, then export again.',
}

export const EXPORT_FOR_NOW: ErrorFacts = { ...EXPORT, again: 'retry', exitCode: 5 }

/** The backup was not made. A backup that was there before is unchanged. */
export const BACKUP: ErrorFacts = {
  ...OURS,
  exitCode: 2,
  title: 'no backup made',
  fix: 'Correct what is named above, then make the backup again.',
}

export const BACKUP_FOR_NOW: ErrorFacts = { ...BACKUP, again: 'retry', exitCode: 5 }

/** The hours in which runs may start are over. */
export const WINDOW_CLOSED = {
  ...OURS,
  again: 'wait',
  exitCode: 5,
  resumable: true,
  from: 'limit',
  title: 'stopped at the end of its window',
  fix: 'Nothing to do: the run goes on when schedule.window begins again. If it happens often, make the window longer.',
} as const

/** A person paused the organization. */
export const PAUSED = {
  ...OURS,
  again: 'wait',
  exitCode: 5,
  title: 'paused',
  fix: "End the pause with 'customer-mirror resume <organization>'.",
} as const
