import { ExportFailed, Interrupted, reportedError } from '../errors.ts'
import type { UnfinishedExport } from '../reading/export/export-file.ts'
import type { ExportPlan, ExportReport } from './export-plan.ts'
import type { Io } from './io.ts'
import { plainText } from './output/plain-text.ts'
import { count } from './output/wording.ts'
import { startApart } from './run-apart.ts'

/** An export with the file that is to be replaced; undefined for standard output. */
type Wanted = Omit<ExportPlan, 'to'> & { output: string | undefined }

/** Exports in a process of its own, and says on standard error what was exported. A file is in its place as a whole, or not at all. */
export async function runExport({ output, ...plan }: Wanted, io: Io): Promise<void> {
  const unfinished = output === undefined ? undefined : await begin(output, plan.file)
  const apart = startApart<ExportPlan, ExportReport>('write-export', io)
  try {
    const to = unfinished && output !== undefined ? { path: unfinished.path, file: output } : undefined
    const { last, signal } = await apart.run({ ...plan, to })
    if (io.signal.aborted) return void io.stderr.write(stopped(output))
    const done = await endOf(last, signal, plan)
    if (done === undefined) return
    unfinished?.finish()
    io.stderr.write(summaryOf(done, plan, output))
  } finally {
    apart.end()
    unfinished?.remove()
  }
}

async function begin(file: string, mirror: string): Promise<UnfinishedExport> {
  const { unfinishedExport } = await import('../reading/export/export-file.ts')
  return unfinishedExport(file, mirror)
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
    const { unknownOrganization } = await import('./unknown-organization.ts')
    throw unknownOrganization(last[1], configured)
  }
  if (signal === 'SIGINT' || signal === 'SIGTERM') throw new Interrupted('The export was stopped.')
  throw new ExportFailed(
    'The export was ended by the system, most likely because it needs more memory than there is. What was written to standard ' +
      'output is not all of it; a file was not written.',
    { code: 'export-unfinished' },
  )
}

function stopped(output: string | undefined): string {
  return output === undefined
    ? 'Stopped: what was written is not all of it.\n'
    : `Stopped: ${output} was not written.\n`
}

/** How much it was, what is not in it, and where the next export of changes continues. */
function summaryOf(done: Done, { selection }: ExportPlan, output: string | undefined): string {
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
  return [...left, ...before, `Exported ${what}${where}. Last seq: ${done.lastSeq}\n`].join('')
}
