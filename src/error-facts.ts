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

export type Again = 'wait' | 'retry' | 'never'

/**
 * Where an error comes from. On the service's side: `answer` (it refuses, or cannot be trusted) and `outage` (no answer for now).
 * On our side: `mirror` (the file or its disk), `queue`, `other-run` of the same organization, a requested `stop`, a `limit` of
 * the configuration, and `ours` (the configuration, the command line or this program).
 */
export type Origin = 'answer' | 'outage' | 'mirror' | 'queue' | 'other-run' | 'stop' | 'limit' | 'ours'

/** An error on our side without a retry; the rows below contain the differences. */
const OURS: ErrorFacts = {
  again: 'never',
  askAgain: 'never',
  exitCode: 1,
  resumable: false,
  window: undefined,
  from: 'ours',
  title: 'unexpected',
  fix: 'Please report it.',
}

const REFUSED: ErrorFacts = { ...OURS, exitCode: 4, resumable: true, from: 'answer' }

const OUTAGE: ErrorFacts = { ...OURS, again: 'retry', askAgain: 'retry', exitCode: 5, resumable: true, from: 'outage' }

/** An invalid answer, such as a page of a proxy or half an answer: often gone a minute later, so it is retried. */
const BREACH: ErrorFacts = {
  ...OURS,
  again: 'retry',
  exitCode: 3,
  from: 'answer',
  title: 'not the documented answer',
  fix: 'Check that baseUrl is the final address of the interface itself: https, the right host, ending in /api/v1.',
}

const MIRROR: ErrorFacts = {
  ...OURS,
  exitCode: 7,
  from: 'mirror',
  title: 'mirror',
  fix: 'Repair or move the file named above, or name another one as mirror in the configuration.',
}

/** Another page, or other rows, than requested: most often a cache or proxy answers in place of the service. */
const OTHER_PAGE = {
  ...BREACH,
  resumable: true,
  title: 'not the page asked for',
  fix: 'Look for a cache or a proxy that answers in place of the service, then sync again.',
} as const

/** A temporary problem: it ends when another program closes the file, space is freed, or the file is opened again. */
const MIRROR_FOR_NOW: ErrorFacts = { ...MIRROR, again: 'retry', exitCode: 5 }

const OTHER_RUN: ErrorFacts = {
  ...OURS,
  again: 'wait',
  exitCode: 6,
  from: 'other-run',
  title: 'busy',
  fix: 'Wait for the other run to end.',
}

/**
 * Every error code of the program, once, under its class in `errors.ts`. A new code is a row here and a `throw` where it
 * happens; all other code looks it up here.
 */
export const ERRORS = {
  ConfigError: {
    config: {
      ...OURS,
      exitCode: 2,
      resumable: true,
      title: 'not configured',
      fix: 'Set the variable or write the file named above.',
    },
  },
  UsageError: {
    usage: { ...OURS, exitCode: 2, title: 'cannot be done', fix: 'Correct what is named above, then try again.' },
  },
  SourceRefused: {
    unauthorized: {
      ...REFUSED,
      title: 'bad key, wrong secret or wrong recipe',
      fix: "Check apiKey and secret; 'customer-mirror signing explain <organization>' shows what is signed.",
    },
    forbidden: {
      ...REFUSED,
      title: 'plan forbids',
      fix: 'Ask the owner of the service to include listing customers in the plan of this organization.',
    },
    'not-found': {
      ...REFUSED,
      title: 'not found',
      fix: 'Check baseUrl: the subdomain is that of the organization, the path ends in /api/v1.',
    },
    unprocessable: {
      ...REFUSED,
      window: 'size-refused',
      title: 'request not accepted',
      fix: 'Lower pageSize, for example to 50.',
    },
  },
  RateLimited: {
    'rate-limited': {
      ...OUTAGE,
      again: 'wait',
      askAgain: 'wait',
      title: 'throttled',
      fix: 'Nothing to do: a sync waits for it. If it happens often, set rateLimit.requestsPerMinute below the limit.',
    },
  },
  SourceUnavailable: {
    network: { ...OUTAGE, title: 'unreachable', fix: 'Check baseUrl, the network, and any firewall or proxy.' },
    tls: {
      ...OUTAGE,
      askAgain: 'never', // a certificate does not change within seconds
      title: 'certificate not trusted',
      fix: 'Check the host name, and that this machine knows its certificate authority.',
    },
    timeout: { ...OUTAGE, title: 'too slow', fix: 'Try again, or raise requestTimeout.' },
    // Only a 500 is about its window, which may hold a poison row; 502, 503 and 504 are about the service.
    'server-error': {
      ...OUTAGE,
      window: 'hole',
      title: 'service failing',
      fix: 'Nothing to do here; the service has to recover. A sync retries by itself.',
    },
  },
  ContractBroken: {
    redirect: { ...BREACH, again: 'never', title: 'redirected' }, // any 3xx
    'not-json': BREACH, // HTML, an empty body, notices before the JSON, truncated JSON
    'not-utf8': { ...BREACH, window: 'hole' }, // bytes that are not valid UTF-8
    'too-large': { ...BREACH, window: 'too-large' }, // more decoded bytes than the cap
    'bad-encoding': BREACH, // compressed content that cannot be decompressed, or an encoding that was not requested
    envelope: BREACH, // JSON without the documented list envelope, `success: false`, `data: null`
    'page-mismatch': { ...OTHER_PAGE, window: 'page-mismatch' }, // a page that was not requested
    'size-mismatch': { ...OTHER_PAGE, window: 'page-mismatch' }, // more rows than `per_page`, or an impossible `per_page`
    'repeated-page': { ...OTHER_PAGE, window: 'repeated-page' }, // the same page again under another number
    'page-cap': { ...OTHER_PAGE, again: 'never', resumable: false, title: 'a list without end' },
    status: BREACH, // a status the specification does not know
    'cached-answer': { ...OTHER_PAGE, resumable: false, window: 'cached-answer' }, // older than its request
    'tenant-mixup': {
      ...BREACH,
      again: 'never',
      title: 'customers of another organization',
      fix: 'Give this organization its own apiKey, secret and baseUrl; if its id is new, put the old one back.',
    },
  },
  MirrorUnusable: {
    'mirror-directory': MIRROR,
    'mirror-unreadable': MIRROR,
    'mirror-read-only': MIRROR,
    'mirror-newer': MIRROR,
    'mirror-corrupt': MIRROR,
    'mirror-foreign': MIRROR,
    'mirror-missing': MIRROR,
    'mirror-full': { ...MIRROR_FOR_NOW, resumable: true, fix: 'Free some space, then try again.' },
    'mirror-locked': {
      ...MIRROR_FOR_NOW,
      resumable: true,
      fix: 'Close the program that has the mirror open, or try again when it is done.',
    },
    // Deleted or replaced while it was open.
    'mirror-replaced': {
      ...MIRROR_FOR_NOW,
      fix: 'Sync again; stop everything that writes to the mirror before it is moved or put back.',
    },
  },
  OrganizationLeased: { held: OTHER_RUN, 'lease-lost': { ...OTHER_RUN, resumable: true } },
  QueueUnavailable: {
    queue: {
      ...OURS,
      again: 'retry',
      exitCode: 5,
      from: 'queue',
      title: 'queue',
      fix: 'Repair the queue named above, then try again.',
    },
  },
  AccountingBroken: { accounting: OURS },
  Interrupted: {
    interrupted: {
      ...OURS,
      again: 'wait',
      resumable: true,
      from: 'stop',
      title: 'stopped',
      fix: 'Sync again to continue.',
    },
  },
  MaxRunReached: {
    'max-run': {
      ...OURS,
      again: 'wait',
      exitCode: 5,
      resumable: true,
      from: 'limit',
      title: 'reached maxRun',
      fix: 'Nothing to do: the next run continues from there. If it happens often, raise maxRun, concurrency or requestsPerMinute.',
    },
  },
} as const satisfies Record<string, Record<string, ErrorFacts>>

/** The name of a class of `errors.ts`. */
export type ErrorKind = keyof typeof ERRORS
/** The codes of a class. */
export type CodesOf<Kind extends ErrorKind> = { [Each in Kind]: keyof (typeof ERRORS)[Each] & string }[Kind]
export type ErrorCode = CodesOf<ErrorKind>

/** The facts of an error that was not thrown on purpose: a defect of this program or of a library. */
const UNEXPECTED: ErrorFacts = { ...OURS, again: 'retry' }

const BY_CODE: ReadonlyMap<string, ErrorFacts> = new Map(
  Object.values<Record<string, ErrorFacts>>(ERRORS).flatMap((codes) => Object.entries(codes)),
)

/** The facts of an error code, also one from a stored report. An unknown code has the facts of a defect. */
export function factsOfCode(code: string): ErrorFacts {
  return BY_CODE.get(code) ?? UNEXPECTED
}

/** Whether an error with this code is thrown on purpose. */
export function isErrorCode(code: string): code is ErrorCode {
  return BY_CODE.has(code)
}
