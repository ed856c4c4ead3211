import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { describeError } from '../errors.ts'
import { setHeapSize } from '../heap-size.ts'
import { exportError } from '../reading/export/export-error.ts'
import { exportRows } from '../reading/export/export-rows.ts'
import type { Sink } from '../reading/export/format.ts'
import { loadFormat } from '../reading/export/formats.ts'
import { openToRead } from '../reading/open-to-read.ts'
import { statementError } from '../reading/statement-error.ts'
import { writeAll } from '../reading/write-all.ts'
import type { ExportPlan, ExportReport } from './export-plan.ts'
import { plainJson, plainText } from './output/plain-text.ts'

/** The process that exports. Takes an ExportPlan, writes to standard output or a file, and reports on file descriptor 3. */
async function main(): Promise<void> {
  setHeapSize()
  const plan: ExportPlan = JSON.parse(readFileSync(0, 'utf8'))
  report(await exportAsPlanned(plan))
}

async function exportAsPlanned(plan: ExportPlan): Promise<ExportReport> {
  try {
    const done = await writeExport(plan)
    return 'unknown' in done
      ? ['unknown-organization', { organization: done.unknown, known: done.known }]
      : ['done', done]
  } catch (error) {
    if (error instanceof Unread) return ['unread']
    return ['failed', describeError(statementError(error, plan.file))]
  }
}

async function writeExport({ file, configured, selection, to, withProgress, isForTerminal, ...plan }: ExportPlan) {
  const format = await loadFormat(plan.format, {
    excel: plan.excel,
    ...(isForTerminal && { plainText, plainJson }),
  })
  const descriptor = to === undefined ? 1 : openSync(to.path, 'w')
  try {
    const opened = openToRead(file)
    try {
      const onProgress = withProgress
        ? (rows: number, total: number | undefined) => report(['rows', { rows, total }])
        : undefined
      const sink = sinkTo(descriptor, to?.file ?? 'standard output')
      const done = await exportRows(opened.db, { selection, configured, format, to: sink, onProgress })
      opened.requireUnchanged()
      return done
    } finally {
      opened.close()
    }
  } finally {
    if (to !== undefined) closeSync(descriptor)
  }
}

function sinkTo(descriptor: number, place: string): Sink {
  return {
    write(chunk) {
      try {
        if (writeAll(descriptor, typeof chunk === 'string' ? Buffer.from(chunk) : chunk)) return
      } catch (error) {
        throw exportError(error, place)
      }
      throw new Unread()
    },
  }
}

/** The reader of standard output has closed it. */
class Unread extends Error {}

function report(line: ExportReport): void {
  writeSync(3, `${JSON.stringify(line)}\n`)
}

await main()
