import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Config } from '../config/read-config.ts'
import { UsageError } from '../errors.ts'
import { monotonicMs } from '../monotonic-clock.ts'
import type { Pauses } from '../pause.ts'
import type { Mirror } from '../store.ts'

type Asked = { config: Config; pauses?: Pauses | undefined; nowMs: number }

/** Writes the overview of a mirror as one file. Throws UsageError and ExportFailed for a bad target, and then leaves it as it was. */
export async function writePage(file: string, mirror: Mirror, asked: Asked): Promise<void> {
  const { writeFileWhole } = await import('../reading/write-file.ts')
  if (file.trim() === '') throw new UsageError('The name of the page is empty: name a file, or - for standard output.')
  const target = /[/\\]$/.test(file) ? `${resolve(file)}/` : resolve(file)
  writeFileWhole(target, await pageOf(mirror, asked), { mirror: mirror.file, example: 'status.html', mayReplace })
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

/** Throws UsageError for a file that is no page, such as the configuration. */
function mayReplace(file: string): void {
  const isThere = (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0
  if (isThere && !readFileSync(file, 'utf8').startsWith('<!doctype html>'))
    throw new UsageError(`${file}: is there already, and is not a page made by this command. Name another file.`)
}
