import { commands, configOption, count, countsOf, duration, grouped, moment, second, type Table } from './print.ts'
import type { StoredRun } from '../../model/mirror.ts'
import type { Report } from '../../model/report.ts'
import { certificateOf, noteLines, proofLines, reasonWords } from '../../status/proof-words.ts'

/** A table of runs, one row each. */
export function runsTable(reports: readonly Report[], { withStart = false } = {}): Table {
  const head = ['organization', 'status', 'customers', 'new', 'changed', 'unchanged', 'rejected', 'removed', 'held']
  const rows = reports.map((report) => [
    ...(withStart ? [`#${report.runId ?? '–'}`, second(report.startedAtMs)] : []),
    report.organization,
    statusWords(report),
    report.readBefore + differentCustomers(report),
    ...[report.inserted, report.updated, report.unchanged, report.rejected, report.removed, report.held],
    ...endOf(report),
  ])
  return { head: [...(withStart ? ['run', 'started (UTC)'] : []), ...head, 'requests', 'took', 'proof'], rows }
}

/** Its requests, its duration and what it proved, which are stored when it ends. */
function endOf(report: Report): (string | number)[] {
  if (report.status === 'running') return ['–', '–', '–']
  // A failed run has its status as its only reason.
  const isSaid = report.reasons.every((reason) => reason === report.status)
  return [report.requests, duration(report.durationMs), isSaid ? report.proof : proofWords(report)]
}

/** The status, marked if the run continued another one; its customers then include those of that run. */
function statusWords({ status, error, resumedFrom }: Report): string {
  const words = error === undefined || error.code === status ? status : `${status}: ${error.code}`
  return resumedFrom === undefined ? words : `${words} (resumed)`
}

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
  const { status, reasons, trustedPages = 0 } = report
  const trusted = `partial (${reasons.join(', ')}), ${count(trustedPages, 'page')} trusted without reading`
  return `${read}${before}${of} · ${cost} · ${status === 'partial' ? trusted : proofWords(report)}`
}

/** Customers received, each counted once: neighbouring pages overlap on purpose. */
function differentCustomers({ received, duplicates }: Pick<Report, 'received' | 'duplicates'>): number {
  return received - duplicates
}

/** `proven`, `settled (no-witness)`, or `unproven (plain-scan)`. */
function proofWords({ proof, reasons }: Pick<Report, 'proof' | 'reasons'>): string {
  return reasons.length > 0 ? `${proof} (${reasons.join(', ')})` : proof
}

/**
 * Explains one run: what it did, what its scan proves, and each reason in one sentence. `waiting` is the number of its held
 * removals that still wait for a decision, and `config` the file that the user named.
 */
export function describeRun(
  run: StoredRun,
  { waiting, config }: { waiting: number; config: string | undefined },
): string {
  const lines = [
    `run #${run.runId} of ${run.organization}, ${run.status}, started ${moment(run.startedAtMs)} (${run.trigger})`,
    summary(run),
    ...(run.resumedFrom === undefined ? [] : [`It continued run #${run.resumedFrom}, which had been interrupted.`]),
    ...(run.error === undefined ? [] : [`${run.error.code}: ${run.error.message}`]),
    '',
    ...proofLines(run),
    ...run.reasons.map((reason) => `  ${reason}: ${reasonWords(reason)}`),
    ...noteLines(run),
    ...foundLines(certificateOf(run)?.found ?? []),
    ...absenceLines(run, waiting, configOption(config)),
    ...refusedLines(run),
  ]
  return `${lines.join('\n').trimEnd()}\n`
}

function refusedLines({ searchesRefused }: StoredRun): string[] {
  if (searchesRefused === 0) return []
  return [
    `${count(searchesRefused, 'search', 'searches')} for absent customers refused by the service, or without an answer: after proven scans ` +
      'these customers are removed all the same, after others they stay missing.',
  ]
}

/** Only the ids, to look up in the service. */
function foundLines(ids: readonly string[]): string[] {
  const more = ids.length - MOST_FOUND
  const lines = ids.slice(0, MOST_FOUND).map((id) => `  found by a search, but not in the list: ${id}`)
  return more > 0 ? [...lines, `  and ${grouped(more)} more, in the certificate (--json)`] : lines
}

const MOST_FOUND = 10

function absenceLines({ held, organization, reasons, status }: StoredRun, waiting: number, option: string): string[] {
  if (held === 0) return []
  if (status === 'partial')
    return [`${count(held, 'customer')} absent at once, too many to be marked as missing: the next full run decides.`]
  const why = reasons.includes('contradicted')
    ? 'a search of a sample of them found a customer that is listed'
    : 'too many customers were absent at once'
  const said = `${count(held, 'removal')} held back: ${why}.`
  if (waiting === 0) return [`${said} Nothing is left to decide.`]
  const rows = [['who they are', `removals show ${organization}`], ...decisions(organization)] as const
  return [`${said} ${count(waiting, 'customer')} to decide about:`, commands(rows, option)]
}

/** The commands that decide about held removals of an organization. */
export function decisions(organization: string) {
  return [
    ['they are gone', `removals approve ${organization}`],
    ['they are not', `removals discard ${organization}`],
  ] as const
}
