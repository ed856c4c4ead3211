import { type ErrorCode, type ErrorFacts, factsOfCode, isErrorCode, type WindowFailure } from './error-facts.ts'

/**
 * Every error thrown on purpose. `code` is its stable name in `runs.error_code`, in JSON and in metrics; `error-facts.ts` says how it is handled.
 * `message` says what happened, where, and what to do next. Neither ever contains a key, a secret, a signature or a customer.
 */
class OurError<Code extends ErrorCode = ErrorCode> extends Error {
  declare readonly code: Code
  /** The HTTP status, if there was an answer. */
  declare readonly status: number | undefined
  /** Milliseconds the service asked to wait before the next request; undefined if it named no time. */
  declare readonly waitMs: number | undefined

  constructor(message: string, details: { code: Code } & Refusal, options?: ErrorOptions) {
    super(message, options)
    Object.assign(this, { name: new.target.name }, details)
  }
}

type Refusal = Partial<Pick<OurError, 'status' | 'waitMs'>>

/** The class of the errors that have one code and nothing else to tell. */
function errorOf<Code extends ErrorCode>(code: Code) {
  return class extends OurError<Code> {
    constructor(message: string, options?: ErrorOptions) {
      super(message, { code }, options)
    }
  }
}

/** One mistake in the configuration. */
export type Problem = {
  /** The file, or `environment`. */
  file: string
  /** Both from 1. */
  place?: { line: number; col: number } | undefined
  /** Dotted path to the value, e.g. `organizations.0.baseUrl`. */
  path?: string
  message: string
}

/** Stop: the configuration, or a secret it refers to, has mistakes. The message lists all of them, one on each line. */
export class ConfigError extends errorOf('config') {
  constructor(problems: readonly Problem[]) {
    super(problems.map(describeProblem).join('\n'))
  }
}

function describeProblem({ file, place, path = '', message }: Problem): string {
  const where = place === undefined ? file : `${file}:${place.line}:${place.col}`
  return path === '' ? `${where} ${message}` : `${where} ${path}: ${message}`
}

/** Stop: an argument of the command does not exist or makes no sense, such as an unknown organization. */
export class UsageError extends errorOf('usage') {}

/** Stop this organization and keep its data: the service refused (401, 403, 404, 400, 422), and would refuse a retry. */
export class SourceRefused extends OurError<'unauthorized' | 'forbidden' | 'not-found' | 'unprocessable'> {}

/** The service asked us to slow down. Wait `waitMs`, then ask again. */
export class RateLimited extends OurError<'rate-limited'> {}

/** Retry later: the network or the service failed. This says nothing about the data. */
export class SourceUnavailable extends OurError<'network' | 'tls' | 'server-error'> {}

/** Stop this run and keep its data: the answer cannot be trusted, for the reason named by `code`. */
export class ContractBroken extends OurError<WindowFault | 'bad-answer' | 'not-utf8' | 'page-cap' | 'tenant-mixup'> {}

type WindowFault = Exclude<WindowFailure, 'hole' | 'size-refused'>

/** Stop: the mirror, a file or on a server, cannot be used as it is. Nothing was written. */
export class MirrorUnusable extends OurError<Fault | 'version' | 'replaced'> {}

/** A class of what the system, SQLite, a server or a bucket reports. It is the code of the error, too. */
export type Fault = 'full' | 'busy' | 'denied' | 'damaged' | 'missing' | 'foreign' | 'gone'

/** Try again later: a copy, an export or a backup could not be made. The mirror, and what was there before, stays as it was. */
export class CopyFailed extends OurError<'full' | 'busy' | 'gone' | 'unhidden'> {}

/** Retry later: another run holds the lease of the organization, or took it over while this one was paused. */
export class OrganizationLeased extends errorOf('leased') {}

/** Try again later: the queue of the worker cannot be reached, or cannot be used as it is. Nothing of the mirror is touched. */
export class QueueUnavailable extends errorOf('queue') {}

/** The numbers of a page or a run do not add up, so it was rolled back: something added to the mirror keeps rows out, or we have a defect. */
export class AccountingBroken extends errorOf('accounting') {}

/** The run was asked to stop. The current page was finished and saved. */
export class Interrupted extends errorOf('interrupted') {}

/** A person cancelled the run. Its current pages were saved, and the next run continues from there. */
export class Cancelled extends errorOf('cancelled') {}

/** The run took as long as one may, six hours. The rows it read are saved, and the next run continues from there. */
export class MaxRunReached extends errorOf('max-run') {}

/** The error of a run in another process, from its report: it is handled like the original, but has no other data. */
export function reportedError({ code, message }: { code: string; message: string }): Error {
  return isErrorCode(code) ? new OurError(message, { code }) : new Error(message)
}

/** Whether an error was thrown on purpose, with a message for people. */
export function isOurs(error: unknown): error is OurError {
  return error instanceof OurError
}

/** The stable code of any error, `unexpected` if it was not thrown on purpose, and its message. */
export function describeError(error: unknown): { code: string; message: string } {
  const code = isOurs(error) ? error.code : 'unexpected'
  return { code, message: error instanceof Error ? error.message : String(error) }
}

export function factsOf(error: unknown): ErrorFacts {
  return factsOfCode(describeError(error).code)
}

/** The status with which the service refused, and how many milliseconds it asked to wait; each undefined where it did not say. */
export function refusalIn(error: unknown): Refusal {
  return isOurs(error) ? error : {}
}

/** The failure of the requested window; undefined if the error concerns the whole service, so that the run has to end. */
export function windowFailureOf(error: unknown): WindowFailure | undefined {
  // Other 5xx statuses come from a proxy in front of the service, and concern every window.
  if (error instanceof SourceUnavailable && error.status !== 500) return undefined
  return factsOf(error).window
}
