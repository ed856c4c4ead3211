import { Interrupted, reportedError } from '../../errors/errors.ts'
import { monotonicMs } from '../../machine/monotonic-clock.ts'
import type { Io } from '../io.ts'
import { say } from '../output/say.ts'
import { duration } from '../output/wording.ts'
import type { ColumnsPlan, ReadingPlan, ReadingReport } from './reading-plan.ts'
import { startApart } from './run-apart.ts'
import { timeLimit } from './time-limit.ts'

/** A process that was started and waits for its plan. */
export type Reading = {
  /**
   * Runs the plan: rows go to standard output. Returns the last report, or undefined when a stop or a limit ended it, which is
   * then reported. `limitMs` counts the time in which SQLite works, not the time in which the rows are taken.
   */
  run(plan: ReadingPlan | ColumnsPlan, options?: { limitMs?: number | undefined }): Promise<ReadingReport | undefined>
  /** Ends the process, if it has not ended. */
  end(): void
}

/** Starts the process, which gets ready while the configuration is read. */
export function startReading(io: Io): Reading {
  const apart = startApart<ReadingPlan | ColumnsPlan, ReadingReport>('read-rows', io)

  return {
    async run(plan, { limitMs } = {}) {
      const limit = timeLimit(limitMs, monotonicMs, apart.end)
      const { last, signal } = await apart.run({ ...plan, limitMs }, ([kind]) => limit.count(kind === 'reading'))
      limit.count(false)
      if (io.signal.aborted) return undefined
      if (limit.isReached() && last?.[0] !== 'done') return tooLong(io, limitMs ?? 0)
      return endOf(last, signal, io)
    },
    end: apart.end,
  }
}

function tooLong(io: Io, limitMs: number): undefined {
  say(
    io.stderr,
    `The statement was ended: it took longer than ${duration(limitMs)}. Rows printed before are not all of them. ` +
      'Ask for less, or allow more with --timeout.\n',
  )
  io.exitWith(5)
}

function endOf(last: ReadingReport | undefined, signal: NodeJS.Signals | null, io: Io): ReadingReport | undefined {
  if (last?.[0] === 'failed') throw reportedError(last[1])
  if (last !== undefined && last[0] !== 'reading' && last[0] !== 'writing') return last
  if (signal === 'SIGINT' || signal === 'SIGTERM') throw new Interrupted('The statement was stopped.')
  say(
    io.stderr,
    `The statement was ended by the system (${signal ?? 'no signal'}), most likely because it needs more memory than there is. Rows ` +
      'printed before are not all of them. Ask for less at once.\n',
  )
  io.exitWith(5)
  return undefined
}
