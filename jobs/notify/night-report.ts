import { factsOfCode } from '../../src/errors/error-facts.ts'
import { toJson, type Report } from '../../src/report.ts'
import { isoTime } from '../../src/time/iso-time.ts'
import type { Ended, Night } from './nights.ts'

/** An organization in a night: how it stands, the run that says so, and how many of its removals wait for a decision. */
export type InNight = { organization: string; ended: Ended; run: Report | undefined; heldRemovals: number }

/** Whether every organization was read to its end, and its data has the fields that it had. */
export function wentWell(organizations: readonly Pick<InNight, 'ended' | 'run'>[]): boolean {
  return organizations.every(
    ({ ended, run }) => ended === 'complete' && run?.reasons.includes('shape-changed') !== true,
  )
}

/** The report of a night: ids, counts, codes and times. Its keys are a contract: later versions only add some. */
export function reportNight(night: Night, organizations: readonly InNight[], nowMs: number): object {
  const { cron, timezone, dueMs } = night
  const each = organizations.map((one) => ({ ...one, outcome: outcomeOf(one) }))
  const having = (outcome: NightOutcome) => each.filter((one) => one.outcome === outcome).length
  const sum = (count: (run: Report) => number) =>
    each.reduce((total, { run }) => total + (run === undefined ? 0 : count(run)), 0)
  return {
    type: 'night.ended',
    timestamp: isoTime(nowMs),
    data: {
      version: 1,
      dueAt: isoTime(dueMs),
      ...{ cron, timezone },
      wentWell: wentWell(organizations),
      totals: {
        organizations: each.length,
        complete: having('complete'),
        failed: having('failed'),
        unfinished: having('unfinished'),
        notStarted: having('not-started'),
        inserted: sum(({ inserted }) => inserted),
        updated: sum(({ updated }) => updated),
        removed: sum(({ removed }) => removed),
        returned: sum(({ returned }) => returned),
        rejected: sum(({ rejected }) => rejected),
      },
      organizations: each.map(({ organization, outcome, heldRemovals, run }) => ({
        ...{ organization, outcome, heldRemovals },
        run: run === undefined ? null : runOf(run),
      })),
    },
  }
}

type NightOutcome = 'complete' | 'failed' | 'unfinished' | 'not-started'

function outcomeOf({ ended, run }: InNight): NightOutcome {
  if (ended === 'complete') return ended
  if (run === undefined) return 'not-started'
  return ended === 'pending' ? 'unfinished' : ended
}

/** As `sync --json` prints it, with the title of an error: a message may quote what the service answered. */
function runOf(run: Report): object {
  const { pruned: _pruned, ...json } = { pruned: undefined, ...toJson(run) }
  const { code } = run.error ?? {}
  return { ...json, error: code === undefined ? null : { code, title: factsOfCode(code).title } }
}
