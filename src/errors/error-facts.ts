export type ErrorFacts = {
  /** The retry of the run. `wait`: later, without using an attempt. `retry`: until its attempts are used up. `never`: a person has to act. */
  readonly again: Again
  /** The retry of the failed request, within its run. */
  readonly askAgain: Again
  /** The exit code of a command; `cli/command.ts` explains the numbers. */
  readonly exitCode: 1 | 2 | 3 | 4 | 5 | 6 | 7
  /** Whether the windows that the run read stay valid, so that the next run continues from them. */
  readonly resumable: boolean
  /** What the error means for the one requested window; undefined when it concerns the whole run. */
  readonly window: WindowFailure | undefined
  readonly from: Origin
  readonly title: string
  /** What to do about it; `<organization>` is replaced by its id. */
  readonly fix: string
}

type Again = 'wait' | 'retry' | 'never'

/**
 * Why a window could not be read. `hole`: every attempt failed (a poison row). `size-refused`: a 422. `page-mismatch`: another page, or too many
 * rows. `repeated-page`: an identical page under another number. `cached-answer`: older than the request. `too-large`: more bytes or values than allowed.
 */
export type WindowFailure = 'hole' | 'size-refused' | 'page-mismatch' | 'repeated-page' | 'cached-answer' | 'too-large'

/** Where an error comes from: the first two are on the side of the service, the others on ours. */
export type Origin =
  | 'answer' // it refuses, or cannot be trusted
  | 'outage' // no answer for now
  | 'mirror' // the file or its disk, or the server
  | 'other-version' // the mirror is of another version of this program
  | 'queue'
  | 'other-run' // of the same organization
  | 'stop' // of the program, as requested
  | 'cancel' // of this run, by a person
  | 'limit' // of the configuration
  | 'configuration' // a mistake in it, or a secret that it names and that is not there
  | 'ours' // the command line, or this program

/** An error on our side without a retry. The groups, and the rows of the table, contain the differences. */
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

/** It ends by itself, or as soon as something is repaired. */
const AGAIN: ErrorFacts = { ...OURS, again: 'retry', exitCode: 5 }
const LATER: ErrorFacts = { ...AGAIN, again: 'wait', resumable: true }

const REFUSED: ErrorFacts = { ...OURS, exitCode: 4, resumable: true, from: 'answer' }

const OUTAGE: ErrorFacts = { ...AGAIN, askAgain: 'retry', resumable: true, from: 'outage' }

/** An invalid answer, such as a page of a proxy or half an answer: often gone a minute later, so it is retried. */
const BREACH: ErrorFacts = {
  ...OURS,
  again: 'retry',
  exitCode: 3,
  from: 'answer',
  title: 'not the documented answer',
  fix: 'Check that baseUrl is the final address of the interface itself: https, the right host, ending in /api/v1.',
}

/** Another page, or other rows, than requested: most often a cache or proxy answers in place of the service. */
const OTHER_PAGE: ErrorFacts = {
  ...BREACH,
  resumable: true,
  title: 'not the page asked for',
  fix: 'Look for a cache or a proxy that answers in place of the service, then sync again.',
}

const MIRROR: ErrorFacts = {
  ...OURS,
  exitCode: 7,
  from: 'mirror',
  title: 'mirror',
  fix: 'Repair what is named above, or name another mirror in the configuration.',
}

/** It ends when another program closes the file, space is freed, the file is opened again, or a server answers. */
const FOR_NOW: ErrorFacts = { ...MIRROR, again: 'retry', exitCode: 5, resumable: true }

/** Every error code, once: all other code looks it up here. Two codes differ in what a person or a program does next. */
export const ERRORS = {
  config: {
    ...OURS,
    exitCode: 2,
    // The runs of a worker look for a secret again, which asks the service nothing.
    resumable: true,
    from: 'configuration',
    title: 'not configured',
    fix: 'Set the variable or write the file named above.',
  },
  usage: { ...OURS, exitCode: 2, title: 'cannot be done', fix: 'Correct what is named above, then try again.' },

  unauthorized: {
    ...REFUSED,
    title: 'bad key, wrong secret or wrong recipe',
    fix: "Check apiKey, secret and the clock of this machine; 'customer-mirror signing explain <organization>' shows what is signed, and 'customer-mirror signing solve' finds the recipe.",
  },
  forbidden: {
    ...REFUSED,
    title: 'plan forbids',
    fix: 'Check that apiKey is the key of this organization. If it is, its plan has to include listing customers.',
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
    fix: 'Lower pageSize, for example to 20; a sync tries 50 by itself. If that changes nothing, check baseUrl and the signing headers.',
  },
  'rate-limited': {
    ...OUTAGE,
    again: 'wait',
    askAgain: 'wait',
    title: 'throttled',
    fix: 'A run waits for it within maxWait; after that, the next run continues from there. If it happens often, set rateLimit.requestsPerMinute below the limit.',
  },
  network: {
    ...OUTAGE,
    title: 'unreachable',
    fix: 'Check baseUrl, the network, and any firewall; HTTPS_PROXY is not used. A service that is only slow may need a longer requestTimeout.',
  },
  tls: {
    ...OUTAGE,
    askAgain: 'never', // a certificate does not change within seconds
    title: 'no trusted connection',
    fix: 'Do what is named above, or check the port in baseUrl; a sync after that continues.',
  },
  // Only a 500 is about its window, which may hold a poison row; 502, 503 and 504 are about the service.
  'server-error': {
    ...OUTAGE,
    window: 'hole',
    title: 'service failing',
    fix: 'Nothing to do here; the service has to recover. A sync retries by itself.',
  },

  // A redirect, HTML, half an answer, an unknown status, an encoding that was not requested, JSON without the documented envelope
  'bad-answer': BREACH,
  'not-utf8': { ...BREACH, window: 'hole' }, // bytes that are not valid UTF-8
  'too-large': { ...BREACH, window: 'too-large' }, // more decoded bytes than the cap
  'page-mismatch': { ...OTHER_PAGE, window: 'page-mismatch' }, // another page, more rows than `per_page`, an impossible `per_page`
  'repeated-page': { ...OTHER_PAGE, window: 'repeated-page' }, // the same page again under another number
  'page-cap': { ...OTHER_PAGE, again: 'never', resumable: false, title: 'a list without end' },
  'cached-answer': { ...OTHER_PAGE, resumable: false, window: 'cached-answer' }, // older than its request
  'tenant-mixup': {
    ...BREACH,
    again: 'never',
    title: 'customers of another organization',
    fix: "Give this organization its own apiKey, secret and baseUrl; if its id is new, use 'customer-mirror organizations rename'.",
  },

  // The classes of faults.ts, of the mirror; the first, second and last also where copies are written
  full: { ...FOR_NOW, title: 'no room', fix: 'Free some space where it is named above, then try again.' },
  busy: { ...FOR_NOW, title: 'in use', fix: 'Close the program that uses it, or try again when it is done.' },
  denied: { ...MIRROR, title: 'not allowed' },
  damaged: { ...MIRROR, title: 'damaged' },
  missing: {
    ...MIRROR,
    title: 'no mirror',
    fix: "Run 'customer-mirror sync' to make it, or name another mirror in the configuration.",
  },
  foreign: { ...MIRROR, title: 'not ours' },
  gone: {
    ...FOR_NOW,
    again: 'wait',
    title: 'no answer',
    fix: 'Start the server named above, or repair the way to it, then try again.',
  },
  // Another version made the mirror, or has changed it meanwhile: this one cannot use it.
  version: {
    ...MIRROR,
    from: 'other-version',
    title: 'of another version',
    fix: 'Use the version that made the mirror, or name another mirror in the configuration and sync anew.',
  },
  replaced: {
    ...FOR_NOW,
    resumable: false,
    title: 'replaced',
    fix: 'Sync again; stop everything that writes to the mirror before it is moved or put back.',
  },
  unhidden: { ...AGAIN, title: 'not hidden yet', fix: 'Sync the organizations named above, then publish again.' },
  accounting: {
    ...OURS,
    title: 'the numbers do not add up',
    fix: 'Correct what is named above. If nothing is named there, please report it.',
  },

  leased: { ...LATER, exitCode: 6, from: 'other-run', title: 'busy', fix: 'Wait for the other run to end.' },
  queue: { ...AGAIN, from: 'queue', title: 'queue', fix: 'Repair the queue named above, then try again.' },
  interrupted: { ...LATER, exitCode: 1, from: 'stop', title: 'stopped', fix: 'Sync again to continue.' },
  cancelled: {
    ...OURS,
    exitCode: 3,
    resumable: true,
    from: 'cancel',
    title: 'cancelled',
    fix: "Nothing to do: the next run continues from there, on its schedule or by 'customer-mirror run <organization>'.",
  },
  'max-run': {
    ...LATER,
    from: 'limit',
    title: 'reached six hours',
    fix: 'Nothing to do: the next run continues from there. If it happens often, raise concurrency or requestsPerMinute.',
  },
} as const satisfies Record<string, ErrorFacts>

export type ErrorCode = keyof typeof ERRORS

/** The facts of an error that was not thrown on purpose: a defect of this program or of a library. */
const UNEXPECTED: ErrorFacts = { ...OURS, again: 'retry' }

const BY_CODE: ReadonlyMap<string, ErrorFacts> = new Map(Object.entries(ERRORS))

/** The facts of an error code, also one from a stored report. An unknown code has the facts of a defect. */
export function factsOfCode(code: string): ErrorFacts {
  return BY_CODE.get(code) ?? UNEXPECTED
}

export function isErrorCode(code: string): code is ErrorCode {
  return BY_CODE.has(code)
}

/** Refusals and mistakes that a person has to fix; errors of the mirror are not among them, since a retry costs no request. */
export function isForGood(errorCode: string): boolean {
  const { again, from } = factsOfCode(errorCode)
  return again === 'never' && from !== 'mirror' && from !== 'other-version' && from !== 'cancel'
}
