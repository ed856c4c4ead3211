import { isoTime } from '../../src/time/iso-time.ts'
import type { LiveConfig } from '../configuration/live-config.ts'

/**
 * What is wrong with the configuration of a worker, in sentences for monitors and for the page. Commands use the mirror and the queue of
 * the file at once, and the worker only after a restart.
 */
export function configurationProblems(
  { brokenSinceMs, awaitingRestart }: Pick<LiveConfig, 'brokenSinceMs' | 'awaitingRestart'>,
  differing: string | undefined,
): string[] {
  return [
    ...awaitingRestart.map(
      (setting) =>
        `the configuration file names another ${setting}, which commands use now and this worker after a restart`,
    ),
    ...(brokenSinceMs === undefined
      ? []
      : [
          `the configuration file cannot be used since ${isoTime(brokenSinceMs)}, see the log of the worker; the one before stays`,
        ]),
    ...(differing === undefined ? [] : [differing]),
  ]
}
