import { readFileSync, writeSync } from 'node:fs'
import { describeError } from '../../errors/errors.ts'
import { shownMirror } from '../../address/mirror-address.ts'
import { copyError, resultsError } from '../../reading/files/copy-error.ts'
import { withFileToRead } from '../../reading/file-to-read.ts'
import { beginExport } from '../../reading/export/export-file.ts'
import { exportRows, type Exported, type Exporting } from '../../reading/export/export-rows.ts'
import { loadFormat } from '../../reading/export/formats.ts'
import { openToRead, type OpenedToRead } from '../../reading/open-to-read.ts'
import type { UnknownOrganization } from '../../reading/organizations/mirrored-in.ts'
import { statementError } from '../../reading/statements/statement-error.ts'
import { writeAll } from '../../reading/files/placed-file.ts'
import type { ExportPlan, ExportReport } from '../export.ts'
import { plainJson, plainText } from '../../plain-text.ts'

/** The process that exports. Takes an ExportPlan, writes to standard output or a file, and reports on file descriptor 3. */
async function main(): Promise<void> {
  const plan: ExportPlan = JSON.parse(readFileSync(0, 'utf8'))
  report(await exportAsPlanned(plan))
}

async function exportAsPlanned(plan: ExportPlan): Promise<ExportReport> {
  try {
    const done = await withFileToRead(plan.file, (file) => writeExport({ ...plan, file }))
    return 'known' in done ? ['unknown-organization', done] : ['done', done]
  } catch (error) {
    if (error instanceof Unread) return ['unread']
    return ['failed', describeError(statementError(error, shownMirror(plan.file)))]
  }
}

async function writeExport({ file, to, folder, ...plan }: ExportPlan): Promise<Exported | UnknownOrganization> {
  const opened = openToRead(file)
  try {
    if (folder !== undefined) return await exportPartitions(opened, folder, plan)
    const exportTo = async (descriptor: number) => {
      const place = { write: (chunk: string | Uint8Array) => write(chunk, descriptor, to?.file) }
      const done = await exportOpened(opened.db, place, plan)
      opened.requireUnchanged()
      return done
    }
    if (to === undefined) return await exportTo(1)
    outliveTerminal()
    const unfinished = beginExport(to.path, to.file)
    try {
      const done = await exportTo(unfinished.descriptor)
      if (!('known' in done)) unfinished.finish()
      return done
    } finally {
      unfinished.remove()
    }
  } finally {
    opened.close()
  }
}

/** A terminal that is closed or that quits ends the command; this process notices that, and removes what it wrote. */
function outliveTerminal(): void {
  for (const signal of ['SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => {})
}

async function exportPartitions(opened: OpenedToRead, folder: string, plan: Planned) {
  const { beginPartitions } = await import('../../reading/export/write-partitions.ts')
  const partitions = beginPartitions(folder, plan.format, (chunk, descriptor) => write(chunk, descriptor, folder))
  try {
    const done = await exportOpened(opened.db, (organization) => partitions.of(organization), plan)
    opened.requireUnchanged()
    if ('known' in done) return done
    const { asOf, changesSince } = plan.selection
    partitions.finish({
      exported_at: done.exportedAt,
      as_of: asOf,
      changes_since: changesSince,
      last_seq: done.lastSeq,
    })
    return done
  } finally {
    partitions.close()
  }
}

type Planned = Omit<ExportPlan, 'file' | 'to' | 'folder'>

async function exportOpened(
  db: OpenedToRead['db'],
  to: Exporting['to'],
  { configured, selection, format, excel, isForTerminal, withProgress }: Planned,
) {
  return exportRows(db, {
    selection,
    configured,
    format: await loadFormat(format, { excel, ...(isForTerminal && { plainText, plainJson }) }),
    to,
    onProgress: withProgress ? (rows, total) => report(['rows', { rows, total }]) : undefined,
  })
}

function write(chunk: string | Uint8Array, descriptor: number, file: string | undefined): void {
  // Nothing is left behind, even if the command is killed.
  if (file !== undefined && process.ppid !== PARENT) throw new Error('The command that asked for the file is gone.')
  try {
    if (writeAll(descriptor, typeof chunk === 'string' ? Buffer.from(chunk) : chunk)) return
  } catch (error) {
    throw file === undefined ? resultsError(error) : copyError(error, file)
  }
  throw new Unread()
}

const PARENT = process.ppid

/** The reader of standard output has closed it. */
class Unread extends Error {}

function report(line: ExportReport): void {
  writeSync(3, `${JSON.stringify(line)}\n`)
}

await main()
