import type { Report } from '../../model/report.ts'
import { renderTable, type TableScreen } from './table.ts'
import { differentCustomers, duration, proofWords, second } from './wording.ts'

/** A table of runs, one row each. */
export function runsTable(
  reports: readonly Report[],
  screen: TableScreen | undefined,
  { withStart = false } = {},
): string {
  const head = [
    'organization',
    'status',
    'customers',
    'new',
    'changed',
    'unchanged',
    'rejected',
    'removed',
    'held',
    'requests',
    'took',
    'proof',
  ]
  const rows = reports.map((report) => [
    report.organization,
    statusWords(report),
    report.readBefore + differentCustomers(report),
    report.inserted,
    report.updated,
    report.unchanged,
    report.rejected,
    report.removed,
    report.held,
    ...endOf(report),
  ])
  if (!withStart) return renderTable(head, rows, screen)
  return renderTable(
    ['run', 'started (UTC)', ...head],
    rows.map((row, index) => [`#${reports[index]?.runId ?? '–'}`, startOf(reports[index]), ...row]),
    screen,
  )
}

/** Its requests, its duration and what it proved, which are stored when it ends. */
function endOf(report: Report): (string | number)[] {
  if (report.status === 'running') return ['–', '–', '–']
  return [report.requests, duration(report.durationMs), repeatsStatus(report) ? report.proof : proofWords(report)]
}

/** The status, marked if the run continued another one; its customers then include those of that run. */
function statusWords({ status, error, resumedFrom }: Report): string {
  const words = error === undefined || error.code === status ? status : `${status}: ${error.code}`
  return resumedFrom === undefined ? words : `${words} (resumed)`
}

/** Whether the only reason is the same as the status, as for a failed run. */
function repeatsStatus({ status, reasons }: Report): boolean {
  return reasons.length === 1 && reasons[0] === status
}

function startOf(report: Report | undefined): string {
  return report === undefined ? '–' : second(report.startedAtMs)
}
