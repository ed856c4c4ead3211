import { type ErrorCode, type ErrorFacts, factsOfCode, isErrorCode, type WindowFailure } from './error-facts.ts'

/**
 * Every error thrown on purpose, grouped by what the caller should do about it. `code` is the stable name that ends up in
 * `runs.error_code`, in JSON and in metrics; `error-facts.ts` defines how each is handled. `message` says what happened, where,
 * and what to do next. Neither ever contains a key, a secret, a signature or a customer.
 */
abstract class OurError extends Error {
  abstract readonly code: ErrorCode
}

/** An error with one of several codes. */
abstract class WithCode<Code extends ErrorCode> extends OurError {
  readonly code: Code

  constructor(message: string, details: { code: Code }, options?: ErrorOptions) {
    super(message, options)
    this.code = details.code
  }
}

/** One mistake in the configuration, with its place. */
export type Problem = {
  /** The file, or `environment`. */
  file: string
  line?: number
  column?: number
  /** Dotted path to the value, e.g. `organizations.0.baseUrl`. */
  path?: string
  message: string
}

/** Stop: the configuration, or a secret it refers to, has mistakes. The message lists all of them, one on each line. */
export class ConfigError extends OurError {
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

/** Stop: an argument of the command does not exist or makes no sense, such as an unknown organization. */
export class UsageError extends OurError {
  override name = 'UsageError' as const
  readonly code = 'usage'
}

/** Why the service refused: 401, 403, 404, and 400 or 422 for a request it will never accept. */
type RefusalCode = 'unauthorized' | 'forbidden' | 'not-found' | 'unprocessable'

/** Stop this organization and keep its data: the service refused, and would refuse a retry. */
export class SourceRefused extends WithCode<RefusalCode> {
  override name = 'SourceRefused' as const
  readonly status: number

  constructor(message: string, details: { code: RefusalCode; status: number }, options?: ErrorOptions) {
    super(message, details, options)
    this.status = details.status
  }
}

/** The service asked us to slow down. Wait `waitMs`, then ask again. */
export class RateLimited extends OurError {
  override name = 'RateLimited' as const
  readonly code = 'rate-limited'
  /** Milliseconds to wait before the next request; undefined when the service named no time. */
  readonly waitMs: number | undefined

  constructor(message: string, details: { waitMs?: number | undefined }, options?: ErrorOptions) {
    super(message, options)
    this.waitMs = details.waitMs
  }
}

/** The codes of a service that could not be reached, or could not answer. */
type UnavailableCode = 'network' | 'tls' | 'server-error'

/** Retry later: the network or the service failed. This says nothing about the data. */
export class SourceUnavailable extends WithCode<UnavailableCode> {
  override name = 'SourceUnavailable' as const
  /** The HTTP status, if there was an answer. */
  readonly status: number | undefined
  /** Milliseconds the service asked to wait (Retry-After of a 503); undefined if it named no time. */
  readonly waitMs: number | undefined

  constructor(
    message: string,
    details: { code: UnavailableCode; status?: number | undefined; waitMs?: number | undefined },
    options?: ErrorOptions,
  ) {
    super(message, details, options)
    this.status = details.status
    this.waitMs = details.waitMs
  }
}

/** The codes of an answer that cannot be trusted. */
type ContractCode =
  | 'bad-answer'
  | 'not-utf8'
  | 'too-large'
  | 'page-mismatch'
  | 'repeated-page'
  | 'page-cap'
  | 'cached-answer'
  | 'tenant-mixup'

/** Stop this run and keep its data: the answer cannot be trusted, for the reason named by `code`. */
export class ContractBroken extends WithCode<ContractCode> {
  override name = 'ContractBroken' as const
}

/** The classes of faults.ts, and two that only a mirror has. */
export type MirrorCode =
  | 'full'
  | 'busy'
  | 'denied'
  | 'damaged'
  | 'missing'
  | 'foreign'
  | 'gone'
  | 'version'
  | 'replaced'

/** Stop: the mirror, a file or on a server, cannot be used as it is. Nothing was written. */
export class MirrorUnusable extends WithCode<MirrorCode> {
  override name = 'MirrorUnusable' as const
}

/** Retry later: another run holds the lease of the organization, or took it over while this one was paused. */
export class OrganizationLeased extends OurError {
  override name = 'OrganizationLeased' as const
  readonly code = 'leased'
}

/** Try again later: the queue of the worker cannot be reached, or cannot be used as it is. Nothing of the mirror is touched. */
export class QueueUnavailable extends OurError {
  override name = 'QueueUnavailable' as const
  readonly code = 'queue'
}

/**
 * Try again later: a copy for readers, an export or a backup could not be made. The mirror is untouched, and what was there before stays as
 * it was.
 */
export class CopyFailed extends WithCode<'full' | 'busy' | 'gone' | 'unhidden'> {
  override name = 'CopyFailed' as const
}

/**
 * The numbers of a page or a run do not add up, so the transaction was rolled back. Something added to the mirror keeps rows from being
 * written, or this program has a defect.
 */
export class AccountingBroken extends OurError {
  override name = 'AccountingBroken' as const
  readonly code = 'accounting'
}

/** The run was asked to stop. The current page was finished and saved. */
export class Interrupted extends OurError {
  override name = 'Interrupted' as const
  readonly code = 'interrupted'
}

/** A person cancelled the run. Its current pages were saved, and the next run continues from there. */
export class Cancelled extends OurError {
  override name = 'Cancelled' as const
  readonly code = 'cancelled'
}

/** The run took as long as one may, six hours. The rows it read are saved, and the next run continues from there. */
export class MaxRunReached extends OurError {
  override name = 'MaxRunReached' as const
  readonly code = 'max-run'
}

/** The organization is paused: no run of it was started. */
export class OrganizationPaused extends OurError {
  override name = 'OrganizationPaused' as const
  readonly code = 'paused'
}

/**
 * The error of a run in another process, from the code and message in its report. It is handled like the original, but has no
 * other data.
 */
export function reportedError({ code, message }: { code: string; message: string }): Error {
  return isErrorCode(code) ? new ReportedError(message, { code }) : new Error(message)
}

class ReportedError extends WithCode<ErrorCode> {
  override name = 'ReportedError' as const
}

/** Whether an error was thrown on purpose, with a message for people. */
export function isOurs(error: unknown): error is OurError {
  return error instanceof OurError
}

/** The stable code of any error, `unexpected` if it was not thrown on purpose, and its message. */
export function describeError(error: unknown): { code: string; message: string } {
  if (!(error instanceof Error)) return { code: 'unexpected', message: String(error) }
  const code = isOurs(error) ? error.code : 'unexpected'
  return { code, message: error.message }
}

/** The facts of any error. */
export function factsOf(error: unknown): ErrorFacts {
  return factsOfCode(describeError(error).code)
}

/** Milliseconds the service asked to wait before the next request; undefined if it named no time. */
export function namedWaitMs(error: unknown): number | undefined {
  return error instanceof RateLimited || error instanceof SourceUnavailable ? error.waitMs : undefined
}

/** The failure of the requested window; undefined if the error concerns the whole service, so that the run has to end. */
export function windowFailureOf(error: unknown): WindowFailure | undefined {
  // Other 5xx statuses come from a proxy in front of the service, and concern every window.
  if (error instanceof SourceUnavailable && error.status !== 500) return undefined
  return factsOf(error).window
}
