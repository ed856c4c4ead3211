import type { Report } from '../../report.ts'
import type { Screen } from '../io.ts'
import { runsTable } from './runs-table.ts'
import { count, differentCustomers, duration } from './wording.ts'

type WaitedOutcome = import('../../../jobs/commands/waited-outcome.ts').WaitedOutcome

/** Runs of other processes: the table that `sync` shows, and a line for each run whose mirror is not on this machine. */
export function waitedText(
  waited: readonly WaitedOutcome[],
  { mirrorFile, screen }: { mirrorFile: string; screen: Screen | undefined },
): string {
  const here = waited.filter(
    ({ from, outcome }) => from === 'mirror' || (from === 'queue' && outcome.error !== undefined),
  )
  const table =
    here.length === 0
      ? ''
      : `${runsTable(
          here.map(({ outcome }) => outcome.report),
          screen,
        )}\n`
  const place = here.some(({ from }) => from === 'mirror') ? `Mirror: ${mirrorFile}\n` : ''
  const lines = waited.flatMap((each) => (here.includes(each) ? [] : [lineOf(each)]))
  return table + lines.join('') + place
}

function lineOf({ outcome: { report }, from }: WaitedOutcome): string {
  const { organization } = report
  if (from === 'none-needed')
    return `${organization}: no run was made, because its list had been read since it was due.\n`
  if (from === 'no-quick-run')
    return `${organization}: no quick run was made, because a full run is under way, unfinished, or held by another process.\n`
  return `${organization}: complete: ${countsText(report)}. Its mirror is not on this machine: look there for its proof.\n`
}

function countsText(report: Report): string {
  const { inserted, updated, rejected, removed, held, requests, durationMs } = report
  const changes = `${inserted} new, ${updated} changed, ${rejected} rejected, ${removed} removed, ${held} held`
  return `${count(differentCustomers(report), 'customer')}: ${changes} · ${count(requests, 'request')} in ${duration(durationMs)}`
}
