import { monotonicMs } from '../../machine/timers.ts'
import type { Mirror } from '../../store.ts'
import type { Io } from '../io.ts'
import { writeStatus, type StatusFacts } from './write-status.ts'

/** Writes the overview of a mirror, as one file that nothing has to be loaded for. */
export async function writePage(file: string, io: Io, mirror: Mirror, facts: StatusFacts): Promise<void> {
  await writeStatus(file, io, mirror, { kind: PAGE, text: () => pageOf(mirror, facts) })
}

const PAGE = {
  example: 'status.html',
  beginning: '<!doctype html>',
  whenUnnamed: 'The name of the page is empty: name a file, or - for standard output.',
  whenForeign: 'is there already, and is not a page made by this command. Name another file.',
}

async function pageOf(mirror: Mirror, { config, pauses, nowMs }: StatusFacts): Promise<string> {
  const [{ overviewPage }, { readOverview }, { overviewFacts }, { checkSchedules }] = await Promise.all([
    import('../../page/overview-page.ts'),
    import('../../page/overview.ts'),
    import('../../../jobs/monitoring/overview-facts.ts'),
    import('../../../jobs/schedule/schedule-mistakes.ts'),
  ])
  checkSchedules(config, nowMs)
  const facts = overviewFacts(config.organizations, { pauses, nowMs, monotonicMs: monotonicMs() })
  return overviewPage(await readOverview(mirror, facts))
}
