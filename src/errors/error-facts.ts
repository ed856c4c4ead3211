import {
  ACCOUNTING,
  BACKUP,
  BACKUP_FOR_NOW,
  BREACH,
  CONFIGURATION,
  COPY,
  COPY_FOR_NOW,
  EXPORT,
  EXPORT_FOR_NOW,
  MIRROR,
  MIRROR_FOR_NOW,
  MIRROR_VERSION,
  OTHER_PAGE,
  OTHER_RUN,
  OURS,
  OUTAGE,
  PAUSED,
  REFUSED,
  SERVER_GONE,
  WINDOW_CLOSED,
  type ErrorFacts,
  type Origin,
} from './error-groups.ts'

export type { ErrorFacts, Origin } from './error-groups.ts'

/**
 * Every error code of the program, once, under its class in `errors.ts`. A new code is a row here and a `throw` where it
 * happens; all other code looks it up here.
 */
export const ERRORS = {
  ConfigError: {
    config: {
      ...CONFIGURATION,
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
  },
  RateLimited: {
    'rate-limited': {
      ...OUTAGE,
      again: 'wait',
      askAgain: 'wait',
      title: 'throttled',
      fix: 'A run waits for it within maxWait; after that, the next run continues from there. If it happens often, set rateLimit.requestsPerMinute below the limit.',
    },
  },
  SourceUnavailable: {
    network: { ...OUTAGE, title: 'unreachable', fix: 'Check baseUrl, the network, and any firewall or proxy.' },
    tls: {
      ...OUTAGE,
      askAgain: 'never', // a certificate does not change within seconds
      title: 'no trusted connection',
      fix: 'Do what is named above; a sync after that continues.',
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
      fix: "Give this organization its own apiKey, secret and baseUrl; if its id is new, use 'customer-mirror organizations rename'.",
    },
  },
  MirrorUnusable: {
    'mirror-directory': MIRROR,
    'mirror-unreadable': MIRROR,
    'mirror-read-only': MIRROR,
    'mirror-version': MIRROR_VERSION,
    'mirror-corrupt': MIRROR,
    'mirror-foreign': MIRROR,
    'mirror-missing': MIRROR,
    'mirror-full': { ...MIRROR_FOR_NOW, resumable: true, fix: 'Free some space, then try again.' },
    'mirror-locked': {
      ...MIRROR_FOR_NOW,
      resumable: true,
      fix: 'Close the program that has the mirror open, or try again when it is done.',
    },
    'mirror-unreachable': SERVER_GONE,
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
  CopyFailed: {
    'copy-full': {
      ...COPY_FOR_NOW,
      fix: 'Free some space where the copy is written, then publish again. The copy that is there stays until then.',
    },
    'copy-busy': { ...COPY_FOR_NOW, fix: 'Wait for the other publish to end.' },
    'copy-unwritable': COPY,
    'copy-unhidden': { ...COPY_FOR_NOW, fix: 'Sync the organizations named above, then publish again.' },
    'copy-unreachable': {
      ...COPY_FOR_NOW,
      fix: 'Publish again when the service answers; a worker does so by itself.',
    },
    'copy-unfinished': {
      ...COPY_FOR_NOW,
      fix: 'Publish again. If it happens again, check the memory and the disk of this machine.',
    },
  },
  ExportFailed: {
    'export-full': {
      ...EXPORT_FOR_NOW,
      fix: 'Free some space where the export is written, then export again.',
    },
    'export-unwritable': EXPORT,
    'export-busy': {
      ...EXPORT_FOR_NOW,
      fix: 'Wait until the other export is done, then export again.',
    },
    'export-unfinished': {
      ...EXPORT_FOR_NOW,
      fix: 'Export again. If it happens again, check the memory and the disk of this machine.',
    },
  },
  BackupFailed: {
    'backup-full': {
      ...BACKUP_FOR_NOW,
      fix: 'Free some space where the backup is written, then make it again. The backup that is there stays until then.',
    },
    'backup-busy': { ...BACKUP_FOR_NOW, fix: 'Wait for the other backup to end.' },
    'backup-unwritable': BACKUP,
    'backup-unfinished': {
      ...BACKUP_FOR_NOW,
      fix: "Make it again. If it happens again, check the disk of the backup, and the mirror with 'customer-mirror check'.",
    },
  },
  AccountingBroken: { accounting: ACCOUNTING },
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
  Cancelled: {
    cancelled: {
      ...OURS,
      exitCode: 3,
      resumable: true,
      from: 'cancel',
      title: 'cancelled',
      fix: "Nothing to do: the next run continues from there, on its schedule or by 'customer-mirror run <organization>'.",
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
  WindowClosed: { 'window-closed': WINDOW_CLOSED },
  OrganizationPaused: { paused: PAUSED },
} as const satisfies Record<string, Record<string, ErrorFacts>>

/** The name of a class of `errors.ts`. */
type ErrorKind = keyof typeof ERRORS
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

/** The codes of all errors that come from there. */
export function codesFrom(origin: Origin): string[] {
  return [...BY_CODE].flatMap(([code, { from }]) => (from === origin ? [code] : []))
}

/** Whether an error with this code is thrown on purpose. */
export function isErrorCode(code: string): code is ErrorCode {
  return BY_CODE.has(code)
}
