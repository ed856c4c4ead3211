import type { Report } from '../../model/report.ts'
import { count, duration, grouped } from '../../text/wording.ts'

export { count, duration, grouped, moment, second } from '../../text/wording.ts'

/** The result of a run in one line, or what it has read so far. */
export function summary(report: Report): string {
  const counts = countsOf([
    [report.inserted, 'new'],
    [report.updated, 'changed'],
    [report.unchanged, 'unchanged'],
    [report.rejected, 'rejected'],
    [report.suppressed, 'forgotten and not kept'],
    [report.missing, 'missing'],
    [report.removed, 'removed'],
    [report.returned, 'returned'],
    [report.held, report.status === 'partial' ? 'absent at once and not marked' : 'removals held'],
  ])
  const waited = report.throttled > 0 ? `, waited ${duration(report.waitedMs)} for the rate limit` : ''
  const read = count(report.readBefore + differentCustomers(report), 'customer')
  const of = counts.length > 0 ? `: ${counts.join(', ')}` : ''
  const before = report.readBefore > 0 ? ` (resumed: ${grouped(report.readBefore)} had been read before)` : ''
  if (report.status === 'running') return `${read}${before} so far${of}`
  const cost = `${count(report.requests, 'request')} in ${duration(report.durationMs)}${waited}`
  return `${read}${before}${of} · ${cost} · ${endWords(report)}`
}

/** The numbers that are not 0, each with what it counts: `12 new`. */
export function countsOf(numbers: readonly (readonly [number: number, what: string])[]): string[] {
  return numbers.filter(([number]) => number > 0).map(([number, what]) => `${grouped(number)} ${what}`)
}

/** Customers received, each counted once: neighbouring pages overlap on purpose. */
export function differentCustomers({ received, duplicates }: Pick<Report, 'received' | 'duplicates'>): number {
  return received - duplicates
}

/** What a run proved, or which part of the list a quick run read: `partial (quick), 988 pages trusted without reading`. */
function endWords(report: Report): string {
  const { status, reasons, trustedPages } = report
  if (status !== 'partial') return proofWords(report)
  return `partial (${reasons.join(', ')}), ${count(trustedPages ?? 0, 'page')} trusted without reading`
}

/** `proven`, `settled (no-witness)`, or `unproven (plain-scan)`. */
export function proofWords({ proof, reasons }: Pick<Report, 'proof' | 'reasons'>): string {
  return reasons.length > 0 ? `${proof} (${reasons.join(', ')})` : proof
}

/** The text quoted as one shell word, for commands that users copy. */
export function shellWord(text: string): string {
  return /^[\w/.@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** The `--config` option for a command shown to the user; empty if the user named no file. */
export function configOption(config: string | undefined): string {
  return config === undefined ? '' : ` --config ${shellWord(config)}`
}

/** A text in a statement that users copy. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
