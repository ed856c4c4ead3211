import type { Report } from '../../report.ts'
import { configOption, count, countsOf, grouped } from './wording.ts'

/** What each quick run found, in one line: `acme: 2 new, 1 missing; 996 of 1,003 pages trusted without reading`. */
export function quickText(reports: readonly Report[]): string {
  return quickRunsIn(reports)
    .map((report) => `${report.organization}: ${whatItFound(report)}\n`)
    .join('')
}

function whatItFound(report: Report): string {
  if (report.reasons.includes('no-order')) return 'nothing was read: the order of its list is not known yet'
  const { inserted, missing, updated, held, rejected, pages, trustedPages = 0 } = report
  const counts = countsOf([
    [inserted, 'new'],
    [missing, 'missing'],
    [updated, 'changed'],
    [rejected, 'rejected'],
    [held, 'absent at once, too many to be marked as missing'],
  ])
  const trusted = `${grouped(trustedPages)} of ${count(trustedPages + pages, 'page')} trusted without reading`
  const nothing = report.reasons.includes('not-confirmed') ? 'none confirmed as missing' : 'none missing'
  return `${counts.length === 0 ? `nothing new, ${nothing}` : counts.join(', ')}; ${trusted}`
}

/** What to do about quick runs that could not find out everything. Each block begins with an empty line. */
export function quickAdvice(reports: readonly Report[], config: string | undefined): string {
  const runs = quickRunsIn(reports)
  const unknown = runs.filter(({ reasons }) => reasons.includes('no-order'))
  const stopped = runs.filter(({ reasons }) => reasons.includes('quick-budget'))
  const commands = unknown.map(({ organization }) => `  customer-mirror sync ${organization}${configOption(config)}\n`)
  return [
    ...(unknown.length === 0
      ? []
      : [
          `\nA quick run goes by the order in which a full run last read the list. Make a full run first:\n`,
          ...commands,
        ]),
    ...stopped.map(
      ({ organization, requests }) =>
        `\n${organization}: the quick run stopped at its limit, after ${count(requests, 'request')}. What it found is saved, the ` +
        'next one goes on from there, and a full run finds everything. If it happens often, raise quick.maxRequests.\n',
    ),
  ].join('')
}

function quickRunsIn(reports: readonly Report[]): Report[] {
  return reports.filter(({ status }) => status === 'partial')
}
