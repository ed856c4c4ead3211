import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

/** Repeats until the answer is accepted, and returns it. Only the test's own time limit ends it. */
export async function eventually<Answer>(ask: () => Answer | Promise<Answer>, pleases: (answer: Answer) => boolean) {
  for (;;) {
    const answer = await ask()
    if (pleases(answer)) return answer
    await sleep(25)
  }
}

/**
 * The allowed duration on this machine now for something that takes at most `ms` on an idle one: multiplied by the number of
 * programs that want to run on each core. Only for promises about a duration; other tests wait for a condition.
 */
export function onThisMachine(ms: number): number {
  return Math.ceil(ms * Math.max(1, programsToRun() / availableParallelism()))
}

/** How long tests wait for a worker to stop. It takes eight seconds, or more on a slow machine; if it waited without a limit, a minute. */
export const stoppedWithinMs = (): number => onThisMachine(30_000)

/** Programs that run or want to run: the average of the last minute, or the current number if it is larger. */
function programsToRun(): number {
  const [lately = 0] = loadavg()
  const [, now = 0] = existsSync('/proc/loadavg')
    ? (/(\d+)\/\d+/.exec(readFileSync('/proc/loadavg', 'utf8')) ?? [])
    : []
  return Math.max(lately, Number(now))
}
