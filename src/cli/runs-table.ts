import type { Report } from '../report.ts'
import { renderTable } from './table.ts'
import { differentCustomers, duration, proofWords } from './wording.ts'

/** What runs did, a row each, for people. */
export function runsTable(reports: readonly Report[], { withStart = false } = {}): string {
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
    report.error === undefined ? report.status : `${report.status}: ${report.error.code}`,
    differentCustomers(report),
    report.inserted,
    report.updated,
    report.unchanged,
    report.rejected,
    report.removed,
    report.held,
    report.requests,
    duration(report.durationMs),
    proofWords(report),
  ])
  if (!withStart) return renderTable(head, rows)
  return renderTable(
    ['run', 'started (UTC)', ...head],
    rows.map((row, index) => [`#${reports[index]?.runId ?? '–'}`, startOf(reports[index]), ...row]),
  )
}

function startOf(report: Report | undefined): string {
  return report === undefined ? '–' : new Date(report.startedAtMs).toISOString().slice(0, 19).replace('T', ' ')
}
