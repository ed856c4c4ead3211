import { isoTime } from '../../src/time/iso-time.ts'
import type { Standing } from '../configuration/accepted-configuration.ts'

/** What is wrong with the configuration of a worker, in sentences for monitors and for the page. */
export function configurationProblems({ otherSinceMs, brokenSinceMs }: Standing): string[] {
  return [
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
