import { say, plainText } from '../output/say.ts'
import { CopyFailed, Interrupted, isOurs, reportedError } from '../../errors/errors.ts'
import { monotonicMs } from '../../machine/monotonic-clock.ts'
import type { ExportPlan, ExportReport } from './export-plan.ts'
import { redrawableScreenOf, type Io } from '../io.ts'
import { removeIfPossible } from '../../reading/files/placed-file.ts'
import { count } from '../output/wording.ts'
import { startApart } from './run-apart.ts'

/** An export with the file that is to be replaced, undefined for standard output, and the configuration that was read for it. */
export type Wanted = Omit<ExportPlan, 'to' | 'withProgress'> & {
  output: string | undefined
  configuration: string | undefined
}

/** Exports in a process of its own, and says on standard error what was exported. A file is in its place as a whole, or not at all. */
export async function runExport({ output, configuration, ...plan }: Wanted, io: Io): Promise<void> {
  const progress = await progressOf(plan, output, io)
  const to = output === undefined ? undefined : await placeFor(output, plan.file, configuration)
  const apart = startApart<ExportPlan, ExportReport>('write-export', io)
  try {
    const { last, signal } = await apart.run({ ...plan, to, withProgress: progress !== undefined }, (report) => {
      if (report[0] === 'rows') progress?.show(report[1].rows, report[1].total)
    })
    progress?.end()
    const place = output ?? plan.folder
    if (plan.folder !== undefined && last?.[0] !== 'done') await tidy(plan.folder)
    if (io.signal.aborted && last?.[0] !== 'done') return say(io.stderr, stopped(place))
    const done = await endOf(last, signal, plan)
    say(io.stderr, done === undefined ? UNREAD : summaryOf(done, plan, place))
  } finally {
    apart.end()
    progress?.end()
    // The process that wrote it removes it, unless it was killed.
    if (to !== undefined) removeIfPossible([to.path])
  }
}

/** The exit code is 0, as for any reader of rows that has enough; one that failed has an exit code of its own. */
const UNREAD = 'The reader of standard output closed it: what was written is not all of it.\n'

/** After the process that exports was ended. What cannot be removed now, the next export removes. */
async function tidy(folder: string): Promise<void> {
  const { tidyExportFolder } = await import('../../reading/export/export-folder.ts')
  try {
    tidyExportFolder(folder)
  } catch (error) {
    if (!isOurs(error)) throw error
  }
}

/** Throws UsageError and ExportFailed for a file that cannot be replaced. */
async function placeFor(
  file: string,
  mirror: string,
  configuration: string | undefined,
): Promise<{ path: string; file: string }> {
  const [{ requireReplaceable }, { EXPORTING }, { privateName }] = await Promise.all([
    import('../../reading/export/export-target.ts'),
    import('../../reading/export/export-file.ts'),
    import('../../reading/files/placed-file.ts'),
  ])
  requireReplaceable(file, { mirror, configuration })
  return { path: privateName(file, EXPORTING), file }
}

/** On a terminal, unless rows appear there too. */
async function progressOf(
  { selection, isForTerminal }: Pick<Wanted, 'selection' | 'isForTerminal'>,
  output: string | undefined,
  io: Io,
) {
  const screen = redrawableScreenOf(io.stderr)
  if (screen === undefined || (output === undefined && isForTerminal)) return undefined
  const { exportProgress } = await import('../output/export-progress.ts')
  return exportProgress(screen, {
    what: selection.changesSince === undefined ? 'customers' : 'changes',
    monotonicMs,
  })
}

type Done = Extract<ExportReport, ['done', unknown]>[1]

async function endOf(
  last: ExportReport | undefined,
  signal: NodeJS.Signals | null,
  { configured }: Pick<ExportPlan, 'configured'>,
): Promise<Done | undefined> {
  if (last?.[0] === 'done') return last[1]
  if (last?.[0] === 'unread') return undefined
  if (last?.[0] === 'failed') throw reportedError(last[1])
  if (last?.[0] === 'unknown-organization') {
    const { unknownOrganization } = await import('./reading-options.ts')
    throw unknownOrganization(last[1], configured)
  }
  if (signal === 'SIGINT' || signal === 'SIGTERM') throw new Interrupted('The export was stopped.')
  throw new CopyFailed(
    `The export was ended by the system (${signal ?? 'no signal'}), most likely because it needs more memory than there is. What was written to standard output is not all of it; a file was not written.`,
    { code: 'gone' },
  )
}

function stopped(output: string | undefined): string {
  return output === undefined
    ? 'Stopped: what was written is not all of it.\n'
    : `Stopped: ${output} was not written.\n`
}

/** How much it was, what is not in it, and where the next export of changes continues. */
function summaryOf(done: Done, { selection }: Pick<ExportPlan, 'selection'>, output: string | undefined): string {
  const left = done.leftOut.map(
    ({ organization, firstReadAt }) =>
      `Left out: ${plainText(organization)}, whose list was ${firstReadAt === undefined ? 'never read to its end' : `first read to its end at ${firstReadAt}`}.\n`,
  )
  const before = done.readBefore.map(
    ({ organization, readAsOf }) =>
      `${plainText(organization)} was last read at ${readAsOf}: its customers are those of then.\n`,
  )
  const what = count(done.rows, selection.changesSince === undefined ? 'customer' : 'change')
  const where = output === undefined ? '' : ` to ${output}`
  return [...left, ...before, `Exported ${what}${where}\nLast seq: ${done.lastSeq}\n`].join('')
}
