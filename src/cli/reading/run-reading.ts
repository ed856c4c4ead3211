import { Interrupted, reportedError } from '../../errors/errors.ts'
import { monotonicMs } from '../../machine/timers.ts'
import type { Io } from '../io.ts'
import { say } from '../output/say.ts'
import { duration } from '../output/wording.ts'
import { startApart } from './run-apart.ts'
import type { CustomersFilter } from '../../copies/read-rows.ts'
import type { UnknownOrganization } from '../../copies/organizations.ts'
import type { Layout } from '../output/rows.ts'

/** A process that was started and waits for its plan. */
export type Reading = {
  /**
   * Runs the plan: rows go to standard output. Returns the last report, or undefined when a stop or a limit ended it, which is
   * then reported. `limitMs` counts the time in which SQLite works, not the time in which the rows are taken.
   */
  run(plan: ReadingPlan, options?: { limitMs?: number | undefined }): Promise<ReadingReport | undefined>
  /** Ends the process, if it has not ended. */
  end(): void
}

/** Starts the process, which gets ready while the configuration is read. */
export function startReading(io: Io): Reading {
  const apart = startApart<ReadingPlan, ReadingReport>('read-rows', io)

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

/** A limit of time that only runs now and then. */
type TimeLimit = {
  /** Whether time counts from now on. */
  count(isCounted: boolean): void
  isReached(): boolean
}

/** Calls `onReached` once when the time that counted is `limitMs`; never if that is undefined. */
export function timeLimit(limitMs: number | undefined, clockMs: () => number, onReached: () => void): TimeLimit {
  let leftMs = limitMs ?? 0
  let sinceMs = 0
  let timer: NodeJS.Timeout | undefined
  let isReached = false
  return {
    isReached: () => isReached,
    count(isCounted) {
      if (limitMs === undefined || isReached || isCounted === (timer !== undefined)) return
      if (timer === undefined) {
        sinceMs = clockMs()
        timer = setTimeout(() => {
          isReached = true
          onReached()
        }, leftMs)
      } else {
        clearTimeout(timer)
        timer = undefined
        leftMs = Math.max(0, leftMs - (clockMs() - sinceMs))
      }
    },
  }
}

/** What the process that reads is to do, as JSON on its standard input. Paths are absolute. */
export type ReadingPlan = {
  /** A mirror or a copy; or the address of a mirror in PostgreSQL, which may hold a password. */
  file: string
  read: { sql: string } | { customers: CustomersFilter }
  /** Organizations of the configuration, which may be asked for although the mirror does not know them yet. */
  configured: readonly string[]
  layout: Layout
  /** End after so many rows, and report whether there are more. */
  most?: number | undefined
  /** How long the statement may take; undefined if there is no limit. */
  limitMs?: number | undefined
}

/**
 * What that process reports, one in a line of JSON: `reading` while SQLite works, so that a time limit counts, and `writing`
 * while it waits for whatever takes the rows; then how it ended.
 */
export type ReadingReport =
  | ['reading' | 'writing' | 'unread']
  | ['done', { more: boolean }]
  | ['unknown-organization', UnknownOrganization]
  | ['failed', { code: string; message: string }]
