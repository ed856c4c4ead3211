import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { describeError } from '../../errors/errors.ts'
import { shownMirror } from '../../address/mirror-address.ts'
import { copyError, resultsError } from '../../copies/copy-error.ts'
import { inOneState, openToRead, type OpenedToRead, withFileToRead } from '../../copies/open-to-read.ts'
import { writeAll, writeFor } from '../../copies/written-file.ts'
import { exportRows, type Exported, type Exporting } from '../../copies/export-rows.ts'
import { loadFormat } from '../../copies/format.ts'
import type { UnknownOrganization } from '../../copies/organizations.ts'
import { statementError } from '../../copies/readable-statement.ts'
import type { ExportPlan, ExportReport } from '../export.ts'
import { plainJson, plainText } from '../../text/plain-text.ts'

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
  const opened = openToRead(file, { asMade: true })
  try {
    if (folder !== undefined) return await exportPartitions(opened, folder, plan)
    const exportTo = async (descriptor: number) => {
      const place = { write: (chunk: string | Uint8Array) => write(chunk, descriptor, to) }
      return exportOpened(opened, place, plan)
    }
    if (to === undefined) return await exportTo(1)
    outliveTerminal()
    return await writeFor(to, async ({ path, place }) => {
      const descriptor = openSync(path, 'r+')
      const done = await exportTo(descriptor).finally(() => closeSync(descriptor))
      if (!('known' in done)) place()
      return done
    }).catch((error: unknown) => {
      throw copyError(error, to)
    })
  } finally {
    opened.close()
  }
}

/** A terminal that is closed or that quits ends the command; this process notices that, and removes what it wrote. */
function outliveTerminal(): void {
  for (const signal of ['SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => {})
}

async function exportPartitions(opened: OpenedToRead, folder: string, plan: Planned) {
  const { beginPartitions } = await import('../../copies/partition-folder.ts')
  const partitions = beginPartitions(folder, {
    extension: plan.format,
    write: (chunk, descriptor) => write(chunk, descriptor, folder),
  })
  try {
    const done = await exportOpened(opened, (organization) => partitions.of(organization), plan)
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
  opened: OpenedToRead,
  to: Exporting['to'],
  { configured, selection, format, excel, ids, isForTerminal, withProgress }: Planned,
) {
  const shown = isForTerminal && { plainText, plainJson }
  const loaded = await loadFormat(format, { excel, ids, ...shown })
  const onProgress = withProgress
    ? (rows: number, total: number | undefined) => report(['rows', { rows, total }])
    : undefined
  return inOneState(opened, (db) => exportRows(db, { selection, configured, format: loaded, to, onProgress }))
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
