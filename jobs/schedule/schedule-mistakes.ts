import type { Config } from '../../src/config/read-config.ts'
import { ConfigError } from '../../src/errors/errors.ts'
import { scheduleProblem } from './due-times.ts'
import { quickSchedule } from './quick-times.ts'

/** Throws one ConfigError for all mistakes in the schedules. */
export function checkSchedules(config: Pick<Config, 'organizations' | 'file'>, nowMs: number): void {
  const mistakes = scheduleMistakes(config, nowMs)
  if (mistakes.length > 0) throw new ConfigError(mistakes)
}

/** The cron lines without a future moment. */
export function scheduleMistakes({ organizations, file }: Pick<Config, 'organizations' | 'file'>, nowMs: number) {
  return organizations.flatMap(({ id, schedule }) => {
    const lines = [
      { what: 'cron', line: schedule },
      { what: 'quick', line: schedule && quickSchedule(schedule) },
    ]
    return lines.flatMap(({ what, line }) => {
      const problem = line && scheduleProblem(line, nowMs)
      if (problem === undefined) return []
      return [{ file, path: `schedule of ${id}`, message: `its ${what} line names no moment (${problem})` }]
    })
  })
}
