import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'

/**
 * How long what takes `ms` at most may take on this machine now: as many times longer as there are programs that want to run
 * for each core. For promises about a duration; what only has to happen is waited for instead.
 */
export function onThisMachine(ms: number, { programs = programsToRun(), cores = availableParallelism() } = {}): number {
  return Math.ceil(ms * Math.max(1, programs / cores))
}

/** Programs that run or would like to: as many as a minute ago on average, or more at this moment where the system says that. */
function programsToRun(): number {
  const [lately = 0] = loadavg()
  const [, now = 0] = existsSync('/proc/loadavg')
    ? (/(\d+)\/\d+/.exec(readFileSync('/proc/loadavg', 'utf8')) ?? [])
    : []
  return Math.max(lately, Number(now))
}
