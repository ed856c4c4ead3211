import { isoTime } from '../../src/time/iso-time.ts'
import type { Standing } from '../configuration/accepted-configuration.ts'
import type { OpenSetting } from '../configuration/live-config.ts'

/**
 * What is wrong with the configuration of a worker, in sentences for monitors and for the page. Commands use the mirror and the queue of
 * the file at once, and the worker only after a restart.
 */
export function configurationProblems(
  { otherSinceMs, brokenSinceMs }: Standing,
  awaitingRestart: readonly OpenSetting[],
): string[] {
  return [
    ...awaitingRestart.map(
      (setting) =>
        `the configuration file names another ${setting}, which commands use now and this worker after a restart`,
    ),
    ...(brokenSinceMs === undefined
      ? []
      : [
          `the configuration file cannot be used since ${isoTime(brokenSinceMs)}, see the log of the worker; the one before stays, and ` +
            'no schedule is written or removed',
        ]),
    ...(otherSinceMs === undefined
      ? []
      : [
          `this worker runs on a configuration other than the one accepted at ${isoTime(otherSinceMs)}, and writes no schedules: give ` +
            'all workers the same file',
        ]),
  ]
}
