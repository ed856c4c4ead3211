import { factsOf } from '../errors/errors.ts'
import type { HeldRemovals } from '../model/mirror.ts'
import type { Outcome } from '../sync/mirror-organization.ts'

/** The program's exit codes. A contract: scripts depend on them. */
export const EXIT_CODES = {
  0: 'every run complete',
  1: 'unexpected',
  2: 'usage or configuration',
  3: 'some organizations failed and others did not, or for different reasons; a run was cancelled, or an answer could not be used; or removals or changed fields wait for a person',
  4: 'refused by the service (400, 401, 403, 404, 422)',
  5: 'try again later: service or queue unavailable, throttled beyond maxWait, six hours reached, organization paused, a file in use, replaced or on a full disk, no answer of a server, statement too slow',
  6: 'another run holds the organization',
  7: 'the mirror cannot be used as it is: missing, damaged, not ours, too new, or not allowed',
} as const

/** Those above, and 128 with the number of the signal that stopped the program. */
export type ExitCode = keyof typeof EXIT_CODES | 130 | 143

/** The exit codes, at the end of a help text. */
export function exitCodesText(): string {
  const lines = Object.entries(EXIT_CODES).map(([code, meaning]) => `  ${code.padStart(3)}  ${meaning}`)
  return `\nExit codes:\n${lines.join('\n')}\n`
}

/** The exit code for one error; undefined is a complete run. */
export function exitCodeOf(error: unknown): ExitCode {
  return error === undefined ? 0 : factsOf(error).exitCode
}

/**
 * The exit code for runs: that of their errors, of partial runs that knew no order or stopped at their limit, and of organizations that wait for
 * a person. `held`: the removals that wait for a decision.
 */
export function exitCodeOfRuns(outcomes: readonly Outcome[], held: readonly HeldRemovals[] = []): ExitCode {
  return oneExitCode(
    outcomes.map(({ error, report: { organization, status, reasons } }) => {
      if (error !== undefined) return exitCodeOf(error)
      if (reasons.includes('shape-changed') || held.some((each) => each.organization === organization)) return 3
      if (status !== 'partial') return 0
      return reasons.includes('no-order') ? 3 : reasons.includes('request-limit') ? 5 : 0
    }),
  )
}

/** The exit code of several: 3 where they differ. */
export function oneExitCode(codes: readonly ExitCode[]): ExitCode {
  const [only, ...others] = new Set(codes)
  return others.length > 0 ? 3 : (only ?? 0)
}
