import { absolutePath } from './command.ts'
import { readFileSync, statSync } from 'node:fs'
import type { Config } from '../config/read-config.ts'
import { UsageError } from '../errors/errors.ts'
import type { Pauses } from '../model/pause.ts'
import type { Mirror } from '../model/mirror.ts'
import type { Io } from './io.ts'
import { monotonicMs } from '../machine/timers.ts'

/** A kind of file that `status` writes, and writes again. */
type OwnFile = {
  /** A name of one, for messages. */
  example: string
  /** How every such file begins. */
  beginning: string
  /** What is wrong with an empty name, and with a file that is there and begins otherwise; the latter follows its name. */
  whenUnnamed: string
  whenForeign: string
  /** Read and written by the owner alone where it is left out. */
  mode?: number
}

/** What the configuration, the queue and the clock say. */
type StatusFacts = { config: Config; pauses: Pauses | undefined; nowMs: number }

/**
 * Writes a form of the status to standard output, which `-` names, or as a whole file in place of the one from before. Throws
 * UsageError and ExportFailed for a bad target, such as a file that this program did not write, and then leaves it as it was.
 */
async function writeStatus(
  file: string,
  { stdout }: Io,
  { file: mirror }: Mirror,
  { kind, text }: { kind: OwnFile; text: () => Promise<string> },
): Promise<void> {
  if (file === '-') return void stdout.write(await text())
  const [{ writeTextFile }, { atPlace }, { requireTextPlace }] = await Promise.all([
    import('../copies/written-file.ts'),
    import('../copies/copy-error.ts'),
    import('../copies/target-place.ts'),
  ])
  if (file.trim() === '') throw new UsageError(kind.whenUnnamed)
  const { example, mode } = kind
  const place = absolutePath(file)
  atPlace(place, () => {
    requireTextPlace(place, { mirror, example })
    throwIfForeign(place, kind)
  })
  writeTextFile(place, await text(), { mode })
}

function throwIfForeign(file: string, { beginning, whenForeign }: OwnFile): void {
  const isThere = (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0
  if (isThere && !readFileSync(file, 'utf8').startsWith(beginning)) throw new UsageError(`${file}: ${whenForeign}`)
}

/** Writes the status of a mirror in the text format of Prometheus, which another user may read, since node_exporter is one. */
export async function writeMetrics(file: string, io: Io, mirror: Mirror, facts: StatusFacts): Promise<void> {
  const { statusMetrics } = await import('../../jobs/monitoring/metrics.ts')
  const text = () => statusMetrics(mirror, { ...facts, monotonicMs: monotonicMs() })
  await writeStatus(file, io, mirror, { kind: METRICS, text })
}

const METRICS = {
  example: 'customer-mirror.prom',
  beginning: '# HELP customer_mirror_',
  whenUnnamed: 'The name of the file is empty: name a file, such as status.prom.',
  whenForeign: 'is there already, and was not made by this command. Name another file.',
  mode: 0o644,
}

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
    import('../status/overview-page.ts'),
    import('../status/overview.ts'),
    import('../../jobs/monitoring/metrics.ts'),
    import('../../jobs/schedule/due-times.ts'),
  ])
  checkSchedules(config, nowMs)
  const facts = overviewFacts(config.organizations, { pauses, nowMs, monotonicMs: monotonicMs() })
  return overviewPage(await readOverview(mirror, facts))
}
