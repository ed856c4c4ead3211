/**
 * Every error thrown on purpose, grouped by what the caller should do about it.
 * `code` is the stable name that ends up in `runs.error_code`, in JSON and in metrics; `message` says what happened,
 * where, and what to do next. Neither ever holds a key, a secret, a signature or a customer.
 */

/** One mistake in the configuration: where it stands and what is wrong with it. */
export type Problem = {
  /** The file, or `environment`. */
  file: string
  line?: number
  column?: number
  /** Dotted path to the value, e.g. `organizations.0.baseUrl`. */
  path?: string
  message: string
}

/** Stop: the configuration, or a secret it refers to, has mistakes. All of them are listed, one a line of the message. */
export class ConfigError extends Error {
  override name = 'ConfigError' as const
  readonly code = 'config'
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[], options?: ErrorOptions) {
    super(problems.map(describeProblem).join('\n'), options)
    this.problems = problems
  }
}

function describeProblem({ file, line, column, path, message }: Problem): string {
  const place = line === undefined ? file : `${file}:${line}:${column ?? 1}`
  return path === undefined || path === '' ? `${place} ${message}` : `${place} ${path}: ${message}`
}

/** Stop: the command was asked for something that does not exist or makes no sense (an unknown organization, say). */
export class UsageError extends Error {
  override name = 'UsageError' as const
  readonly code = 'usage'
}

/** Why the service refused: 401, 403, 404, and 422 for a request it will never accept. */
export type RefusalCode = 'unauthorized' | 'forbidden' | 'not-found' | 'unprocessable'

/** Stop this organization and keep its data: the service refused, and asking again would be refused again. */
export class SourceRefused extends Error {
  override name = 'SourceRefused' as const
  readonly code: RefusalCode
  readonly status: number
  /** Milliseconds the service's clock is ahead of ours, where it is known. */
  readonly clockOffsetMs: number | undefined
  /** What the service said, fit to be shown: its error code and message, nothing secret. Empty when it said nothing. */
  readonly said: string

  constructor(
    message: string,
    details: { code: RefusalCode; status: number; clockOffsetMs?: number | undefined; said?: string | undefined },
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.code = details.code
    this.status = details.status
    this.clockOffsetMs = details.clockOffsetMs
    this.said = details.said ?? ''
  }
}

/** The service asked us to slow down. Wait `waitMs`, then ask again. */
export class RateLimited extends Error {
  override name = 'RateLimited' as const
  readonly code = 'rate-limited'
  /** Milliseconds to wait before the next request; undefined when the service named no time. */
  readonly waitMs: number | undefined

  constructor(message: string, details: { waitMs?: number | undefined }, options?: ErrorOptions) {
    super(message, options)
    this.waitMs = details.waitMs
  }
}

/** Why the service could not be reached, or could not answer. */
export type UnavailableCode = 'network' | 'tls' | 'timeout' | 'server-error'

/** Ask again later: the network or the service failed, and says nothing about the data. */
export class SourceUnavailable extends Error {
  override name = 'SourceUnavailable' as const
  readonly code: UnavailableCode
  /** The HTTP status, where there was an answer. */
  readonly status: number | undefined
  /** Milliseconds the service asked to wait (Retry-After of a 503), where it did. */
  readonly waitMs: number | undefined

  constructor(
    message: string,
    details: { code: UnavailableCode; status?: number | undefined; waitMs?: number | undefined },
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.code = details.code
    this.status = details.status
    this.waitMs = details.waitMs
  }
}

/** The ways an answer can be untrustworthy. */
export type ContractCode =
  | 'redirect' // any 3xx
  | 'not-json' // HTML, an empty body, notices before the JSON, truncated JSON
  | 'not-utf8' // bytes that are not valid UTF-8
  | 'too-large' // more decoded bytes than the cap
  | 'bad-encoding' // compressed content that cannot be decompressed, or an encoding never asked for
  | 'envelope' // JSON without the documented list envelope, `success: false`, `data: null`
  | 'page-mismatch' // another page than the one asked for
  | 'size-mismatch' // more rows than `per_page`, or an impossible `per_page`
  | 'repeated-page' // the same page again under another number
  | 'status' // a status the specification does not know
  | 'cached-answer' // made before it was asked for
  | 'tenant-mixup' // the customers of another organization

/** Stop this run and keep its data: the answer cannot be trusted, for the reason named by `code`. */
export class ContractBroken extends Error {
  override name = 'ContractBroken' as const
  readonly code: ContractCode

  constructor(message: string, details: { code: ContractCode }, options?: ErrorOptions) {
    super(message, options)
    this.code = details.code
  }
}

/** What is wrong with a mirror file. */
export type MirrorCode =
  | 'directory'
  | 'unreadable'
  | 'read-only'
  | 'newer'
  | 'corrupt'
  | 'foreign'
  | 'full'
  | 'missing'
  | 'locked'
  | 'replaced' // deleted, or another file put in its place, while it was open

/** Stop: the mirror file cannot be used as it is. Nothing was written. */
export class MirrorUnusable extends Error {
  override name = 'MirrorUnusable' as const
  readonly code: `mirror-${MirrorCode}`

  constructor(message: string, details: { code: MirrorCode }, options?: ErrorOptions) {
    super(message, options)
    this.code = `mirror-${details.code}`
  }

  /** Whether it can be used again once another program is done with it, space was freed, or it was opened anew. */
  get isTemporary(): boolean {
    return this.code === 'mirror-locked' || this.code === 'mirror-full' || this.code === 'mirror-replaced'
  }
}

/** Come back later: another run holds the organization, or took it over while this one was paused. */
export class OrganizationHeld extends Error {
  override name = 'OrganizationHeld' as const
  readonly code: 'held' | 'lease-lost'

  constructor(message: string, details: { code: 'held' | 'lease-lost' }, options?: ErrorOptions) {
    super(message, options)
    this.code = details.code
  }
}

/** Try again later: the queue of the worker cannot be reached, or cannot be used as it is. Nothing of the mirror is touched. */
export class QueueUnavailable extends Error {
  override name = 'QueueUnavailable' as const
  readonly code = 'queue'
}

/** The numbers of a page or a run do not add up. A defect of this program; the transaction was rolled back. */
export class AccountingBroken extends Error {
  override name = 'AccountingBroken' as const
  readonly code = 'accounting'
}

/** We were asked to stop. The page at hand was finished and kept. */
export class Interrupted extends Error {
  override name = 'Interrupted' as const
  readonly code = 'interrupted'
}

/** The run has taken as long as `maxRun` lets it. What it read is kept, and the next run goes on from there. */
export class MaxRunReached extends Error {
  override name = 'MaxRunReached' as const
  readonly code = 'max-run'
}

/** Any error as its stable code, `unexpected` for one not thrown on purpose, and its message. */
export function describeError(error: unknown): { code: string; message: string } {
  if (!(error instanceof Error)) return { code: 'unexpected', message: String(error) }
  const code = isOurs(error) ? error.code : 'unexpected'
  return { code, message: error.message }
}

/** Whether an error was thrown on purpose: then its message is written for people. */
export function isOurs(error: unknown): error is OurError {
  return OUR_ERRORS.some((kind) => error instanceof kind)
}

type OurError = InstanceType<(typeof OUR_ERRORS)[number]>
const OUR_ERRORS = [
  ConfigError,
  UsageError,
  SourceRefused,
  RateLimited,
  SourceUnavailable,
  ContractBroken,
  MirrorUnusable,
  OrganizationHeld,
  QueueUnavailable,
  AccountingBroken,
  Interrupted,
  MaxRunReached,
] as const
