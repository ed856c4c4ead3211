import { factsOf } from '../errors.ts'

/** The program's exit codes. A contract: scripts depend on them. */
export const EXIT_CODES = {
  0: 'every run complete',
  1: 'unexpected',
  2: 'usage or configuration',
  3: 'some organizations failed, or for different reasons',
  4: 'refused by the service (401, 403, 404)',
  5: 'try again later: service or queue unavailable, throttled beyond maxWait, maxRun reached, mirror locked or replaced, disk full, statement too slow',
  6: 'another run holds the organization',
  7: 'the mirror cannot be used as it is: missing, damaged, unreadable, read-only, not ours or too new',
  130: 'stopped by Ctrl-C',
  143: 'stopped by SIGTERM',
} as const
export type ExitCode = keyof typeof EXIT_CODES

/** The exit code for one error. */
export function exitCodeOf(error: unknown): ExitCode {
  return factsOf(error).exitCode
}

/** The exit code for many organizations, from the error of each run; undefined is a complete run. */
export function exitCodeOfAll(errors: readonly unknown[]): ExitCode {
  const codes = new Set(errors.map((error): ExitCode => (error === undefined ? 0 : exitCodeOf(error))))
  const [only, ...others] = codes
  return others.length > 0 ? 3 : (only ?? 0)
}
