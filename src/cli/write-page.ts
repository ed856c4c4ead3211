import type { Config } from '../config/read-config.ts'
import { monotonicMs } from '../monotonic-clock.ts'
import type { Pauses } from '../pause.ts'
import type { Mirror } from '../store.ts'
import { replaceOwnFile } from './replace-own-file.ts'

type Asked = { config: Config; pauses?: Pauses | undefined; nowMs: number }

/** Writes the overview of a mirror as one file. */
export async function writePage(file: string, mirror: Mirror, asked: Asked): Promise<void> {
  await replaceOwnFile(file, mirror, { kind: PAGE, text: () => pageOf(mirror, asked) })
}

const PAGE = {
  example: 'status.html',
  beginning: '<!doctype html>',
  whenUnnamed: 'The name of the page is empty: name a file, or - for standard output.',
  whenForeign: 'is there already, and is not a page made by this command. Name another file.',
}

/** The overview of a mirror, as one file that nothing has to be loaded for. */
export async function pageOf(mirror: Mirror, { config, pauses, nowMs }: Asked): Promise<string> {
  const [{ overviewPage }, { readOverview }, { overviewFacts }, { checkSchedules }] = await Promise.all([
    import('../page/overview-page.ts'),
    import('../page/overview.ts'),
    import('../../jobs/monitoring/overview-facts.ts'),
    import('../../jobs/schedule/reconcile.ts'),
  ])
  checkSchedules(config, nowMs)
  const facts = overviewFacts(config.organizations, { pauses, nowMs, monotonicMs: monotonicMs() })
  return overviewPage(await readOverview(mirror, facts))
}
